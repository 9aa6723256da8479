import { WWWAuthenticateChallengeError, processRevocationResponse } from 'oauth4webapi';

/** How a server asks for a token (RFC 6750, RFC 9728). */
export interface Challenge {
  resourceMetadata?: string;
  scope?: string;
  error?: string;
}

const maxHeaderLength = 8 * 1024;
const maxBodyLength = 8 * 1024;

/**
 * Parses the `WWW-Authenticate` header of a 401 or 403 response. A server without the header may still require a
 * token. Undefined means that the server requires something else.
 */
export async function readChallenge(header: string | undefined): Promise<Challenge | undefined> {
  if (!header) return {};
  const challenges = await parse(header.slice(0, maxHeaderLength));
  const bare = bareParametersOf(header.slice(0, maxHeaderLength));
  if (challenges === undefined) return /^\s*(bearer|oauth)\b/i.test(header) ? bare : undefined;
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer' || scheme === 'oauth');
  if (bearer === undefined) return undefined;
  const { resource_metadata: resourceMetadata, scope, error } = bearer.parameters;
  return {
    ...bare,
    ...(resourceMetadata && { resourceMetadata }),
    ...(scope && { scope }),
    ...(error && { error }),
  };
}

/** An address without the quotes that its characters require. */
function bareParametersOf(header: string): Challenge {
  const [, resourceMetadata] = /\bresource_metadata=([^\s",]+)/i.exec(header) ?? [];
  return resourceMetadata === undefined ? {} : { resourceMetadata };
}

/** Reads an OAuth error in the JSON body of a refusal, which some servers use instead of the header. */
export function challengeIn(body: string | undefined): Challenge {
  if (body === undefined || body.length > maxBodyLength) return {};
  try {
    const { error, scope } = JSON.parse(body) as { error?: unknown; scope?: unknown };
    return {
      ...(typeof error === 'string' && { error }),
      ...(typeof scope === 'string' && { scope }),
    };
  } catch {
    return {};
  }
}

/** The library's parser, which is only accessible through the error that it creates from a challenge. */
async function parse(header: string): Promise<WWWAuthenticateChallengeError['cause'] | undefined> {
  try {
    const headers = { 'www-authenticate': header };
    await processRevocationResponse(new Response(null, { status: 401, headers }));
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause;
  }
  return undefined; // not a challenge, or not even a header
}
