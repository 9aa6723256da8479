import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { invalid, messageOf } from '@toolhive/contract/failure';
import { readText } from '../../read-text.ts';

/** Parses `NAME=VALUE` arguments. Errors name the flag but never the value, which may be a secret. */
export function readAssignments(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(readPairs(flag, texts));
}

/** The same with duplicates, for callers that need every value. */
export function readPairs(flag: string, texts: readonly string[]): (readonly [string, string])[] {
  return texts.map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1) throw invalid(`--${flag} takes NAME=VALUE`, { hint: 'put the name first, then =' });
    return [text.slice(0, equals).trim(), text.slice(equals + 1)];
  });
}

/**
 * Reads a file of variables: one `NAME=VALUE` per line, optionally after `export`. Lines that begin with # are
 * comments.
 */
export async function readEnvFile(path: string): Promise<Record<string, string>> {
  const lines = (await readText(path, 'the file of variables')).split(/\r?\n/);
  const assignments = lines
    .map((line) => line.trim().replace(/^export\s+/, ''))
    .filter((line) => !line.startsWith('#') && line.indexOf('=') > 0);
  return Object.fromEntries(
    assignments.map((line) => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals).trim(), line.slice(equals + 1)];
    }),
  );
}

/** Reads all variable files in a directory, in alphabetical order, without hidden files. */
export async function readEnvFolder(path: string): Promise<Record<string, string>> {
  const entries = await readdir(path, { withFileTypes: true }).catch((cause: unknown) => {
    throw invalid(`the folder of variables ${path} cannot be read: ${messageOf(cause)}`, { cause });
  });
  const names = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .toSorted();
  const files = await Promise.all(names.map((name) => readEnvFile(join(path, name))));
  return Object.assign({}, ...files) as Record<string, string>;
}

/** Reads a file with a JSON object. `what` names the file in errors. */
export async function readJsonObject(path: string, what: string): Promise<Record<string, unknown>> {
  const text = await readText(path, what);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without its cause, which quotes the content.
    throw invalid(`${what} ${path} is not JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${what} ${path} holds no JSON object`);
  }
  return value as Record<string, unknown>;
}
