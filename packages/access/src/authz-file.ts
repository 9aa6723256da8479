import { isAbsolute } from 'node:path';
import { AuthzConfig } from '@toolhive/contract/authorization';
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { parse as parseYaml } from 'yaml';
import { readBoundedFile } from '@toolhive/state/files';

const maxBytes = 2_000_000;
const what = 'the authorization configuration';

/** Returns the policies in a request: the content of the named file, or the text itself if it is a JSON object. */
export async function readAuthzConfig(text: string): Promise<AuthzConfig> {
  return text.trimStart().startsWith('{')
    ? checked(parseJson(text, what, { maxDepth: 32 }))
    : readAuthzFile(text);
}

/** Reads a policy file: YAML if the name says so, otherwise JSON. Throws `invalid` if the file cannot be read. */
export async function readAuthzFile(path: string): Promise<AuthzConfig> {
  if (!isAbsolute(path)) {
    throw invalid(`${JSON.stringify(path)} is not the absolute path of a file`, {
      hint: 'the daemon has a different working directory, so use an absolute path',
    });
  }
  const about = `${what} ${path}`;
  let text: string;
  try {
    const bytes = await readBoundedFile(path, {
      maxBytes,
      notAFile: () => invalid(`${about} is not a file`),
      tooLarge: () => invalid(`${about} is larger than ${maxBytes} bytes`),
    });
    text = bytes.toString();
  } catch (error) {
    throw error instanceof ThvError
      ? error
      : invalid(`${about} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  return checked(
    /\.ya?ml$/i.test(path) ? yamlOf(text, about) : parseJson(text, about, { maxDepth: 32 }),
    about,
  );
}

function yamlOf(text: string, about: string): unknown {
  try {
    // An alias can make a small file very large, and a warning would print a line of the file.
    return parseYaml(text, { maxAliasCount: 0, prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    throw invalid(`${about} is not YAML: ${messageOf(error)}`, { cause: error });
  }
}

function checked(value: unknown, about: string = what): AuthzConfig {
  const { data, error } = AuthzConfig.safeParse(value);
  if (data === undefined) {
    const [issue] = error?.issues ?? [];
    throw invalid(`${about} is invalid at ${issue?.path.join('.') || 'its beginning'}: ${issue?.message}`);
  }
  if (data.version === undefined) throw invalid(`${about} has no version`, { hint: 'add "version": "1.0"' });
  if (data.type !== 'cedarv1')
    throw invalid(`${about} has no type`, { hint: 'add "type": "cedarv1", the only supported type' });
  return data;
}
