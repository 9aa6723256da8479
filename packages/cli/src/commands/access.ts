import type { Access, AccessOptions, OidcOptions } from '@toolhive/access/access';
import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import type { FlagValues } from '../command.ts';
import { readText } from '../read-text.ts';

/**
 * The access rules for a listener on `host`, from the `listenerFlags`. Unauthenticated access from other machines
 * requires an explicit flag, with a warning.
 */
export async function accessFor(
  flags: FlagValues,
  { host, what, note }: { host: string; what: string; note: (text: string) => void },
): Promise<Access | undefined> {
  const asked = { ...(await readTokens(flags.text('token-file'))), oidc: oidcFrom(flags) };
  const access = await openAccessIfAsked(asked).catch(async (thrown: unknown) => {
    const { namingFlags } = await import('./workloads/request.ts');
    throw namingFlags(thrown, flags);
  });
  if (access !== undefined || isLoopback(host)) return access;
  const warning = `${what} on ${host} would allow anyone who can reach it to run programs on this machine`;
  if (!flags.has('insecure-no-auth')) {
    throw invalid(warning, {
      hint: 'add --token-file or --oidc-issuer. If unauthenticated access is intended, add --insecure-no-auth',
    });
  }
  note(`WARNING: ${warning}`);
  return undefined;
}

/** The OIDC settings from the `oidcFlags`. */
export function oidcFrom(flags: FlagValues): OidcOptions | undefined {
  const options = {
    issuer: flags.text('oidc-issuer'),
    jwksUrl: flags.text('oidc-jwks-url'),
    introspectionUrl: flags.text('oidc-introspection-url'),
    clientId: flags.text('oidc-client-id'),
    clientSecret: flags.text('oidc-client-secret') ?? process.env['TOOLHIVE_OIDC_CLIENT_SECRET'],
  };
  const audience = flags.text('oidc-audience');
  const asked = [options.issuer, options.jwksUrl, options.introspectionUrl, audience];
  return asked.some((value) => value !== undefined) ? { ...options, audience: audience ?? '' } : undefined;
}

/** Without OIDC, the libraries are not loaded. */
async function openAccessIfAsked(asked: AccessOptions): Promise<Access | undefined> {
  const { token, tokens, oidc } = asked;
  if (token === undefined && tokens === undefined && oidc === undefined) return undefined;
  const { openAccess } = await import('@toolhive/access/access');
  return openAccess(asked);
}

/** Reads a file with one token, or with a name and a token in each line. */
async function readTokens(path: string | undefined): Promise<Pick<AccessOptions, 'token' | 'tokens'>> {
  if (path === undefined) return { token: process.env['TOOLHIVE_API_TOKEN'] };
  const lines = (await readText(path, '--token-file')).split('\n').map((line) => line.trim());
  const words = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(/\s+/));
  const [[first, second] = []] = words;
  if (words.length === 1 && second === undefined) return { token: first ?? '' };
  const tokens = new Map<string, string>();
  for (const [index, [name = '', token, ...others]] of words.entries()) {
    if (token === undefined || others.length > 0 || !/^[\w.-]{1,64}$/.test(name)) {
      // The error does not quote the text, because it may be a token.
      throw invalid(`invalid --token-file: entry ${index + 1} is not a name and a token`, {
        hint: 'write only a token, or NAME TOKEN in each line',
      });
    }
    if (tokens.has(name)) throw invalid(`invalid --token-file: two tokens have the name ${name}`);
    tokens.set(name, token);
  }
  if (tokens.size === 0)
    throw invalid(`invalid --token-file: ${path} contains no token`, { hint: 'write a token into the file' });
  return { tokens: Object.fromEntries(tokens) };
}
