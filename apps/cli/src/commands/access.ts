import type { Access, AccessOptions, OidcOptions } from '@toolhive/core/access';
import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import type { FlagValues } from '../command.ts';
import { readText } from '../read-text.ts';

/**
 * Who may use what listens on `host`, as the flags of `listenerFlags` say it. Beyond this machine that is everybody
 * only if somebody asks for it, and then loudly.
 */
export async function accessFor(
  flags: FlagValues,
  { host, what, note }: { host: string; what: string; note: (text: string) => void },
): Promise<Access | undefined> {
  const asked = { token: await readToken(flags.text('token-file')), oidc: oidcFrom(flags) };
  const access = await openAccessIfAsked(asked);
  if (access !== undefined || isLoopback(host)) return access;
  const warning = `${what} on ${host} would let everybody who reaches it run programs on this machine`;
  if (!flags.has('insecure-no-auth')) {
    throw invalid(warning, {
      hint: 'give --token-file or --oidc-issuer; or --insecure-no-auth, if that is what you want',
    });
  }
  note(`WARNING: ${warning}`);
  return undefined;
}

/** Whose tokens are asked for, as the flags of `oidcFlags` say it. */
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

/** Without tokens to check, the libraries that do it are not loaded. */
async function openAccessIfAsked(asked: AccessOptions): Promise<Access | undefined> {
  if (asked.token === undefined && asked.oidc === undefined) return undefined;
  const { openAccess } = await import('@toolhive/core/access');
  return openAccess(asked);
}

async function readToken(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return process.env['TOOLHIVE_API_TOKEN'];
  return (await readText(path, 'the token file')).trim();
}
