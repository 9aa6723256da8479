import { ThvError } from '@toolhive/contract/failure';
import { failureStatus } from '@toolhive/contract/wire';
import { replyJson, replyText } from '../http/reply.ts';
import type { Exchange, Middleware, Principal } from './middleware.ts';

/** Who may use a proxy, and how others can get access. */
export interface ProxyAccess {
  /** Returns the caller with this `Authorization` header, or throws `unauthorized`. */
  check: (authorization: string | undefined) => Promise<Principal>;
  /** What the proxy tells clients that look for an authorization server (RFC 9728). */
  resource?: ProtectedResource | undefined;
}

export interface ProtectedResource {
  /** The URL that clients use. */
  resource: string;
  authorization_servers: readonly string[];
}

const metadataPath = '/.well-known/oauth-protected-resource';

/** Admits only callers that have proved who they are. The metadata that says how to do that is public. */
export function authentication({ access }: { access?: ProxyAccess | undefined }): Middleware | undefined {
  if (access === undefined) return undefined;
  const { check, resource } = access;
  return {
    request(exchange, next) {
      const { path } = exchange;
      if (path === metadataPath || path.startsWith(`${metadataPath}/`)) describe(exchange, resource);
      else void admit(exchange, next);
    },
  };

  async function admit(exchange: Exchange, next: () => void): Promise<void> {
    try {
      if (await isAdmitted(exchange)) next();
    } catch (fault) {
      exchange.request.emit('fault', fault); // to the recovery middleware: this runs outside of its call
    }
  }

  async function isAdmitted(exchange: Exchange): Promise<boolean> {
    const { request, response } = exchange;
    const { authorization } = request.headers;
    try {
      exchange.principal = await check(authorization);
      return !response.destroyed;
    } catch (error) {
      if (!(error instanceof ThvError)) throw error;
      const { status } = failureStatus[error.kind];
      const headers = { 'www-authenticate': challenge(resource, authorization !== undefined) };
      replyText(response, status, error.message, error.kind === 'unauthorized' ? headers : undefined);
      return false;
    }
  }
}

function describe({ request, response }: Exchange, resource: ProtectedResource | undefined): void {
  if (request.method !== 'GET') return replyText(response, 405, 'use GET', { allow: 'GET' });
  if (resource === undefined)
    return replyText(response, 404, 'nothing is said here about how to get a token');
  replyJson(response, 200, JSON.stringify({ ...resource, bearer_methods_supported: ['header'] }));
}

/** RFC 6750, section 3, and RFC 9728, section 5.1. */
function challenge(resource: ProtectedResource | undefined, wasShown: boolean): string {
  const about = resource === undefined ? undefined : new URL(resource.resource);
  const parts = [
    'realm="toolhive"',
    ...(wasShown ? ['error="invalid_token"'] : []),
    ...(about === undefined
      ? []
      : [
          `resource_metadata="${about.origin}${metadataPath}${about.pathname === '/' ? '' : about.pathname}"`,
        ]),
  ];
  return `Bearer ${parts.join(', ')}`;
}
