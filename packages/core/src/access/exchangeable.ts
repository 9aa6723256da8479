import { invalid, notImplemented } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { requestedOidc } from './oidc-config.ts';

/** Throws `invalid` or `not-implemented` for a token exchange that the proxy cannot do. */
export function checkTokenExchange(runConfig: RunConfig): void {
  const { token_exchange_config: config, transport, remote_url: remoteUrl } = runConfig;
  if (!config) return;
  if (requestedOidc(runConfig) === undefined)
    throw invalid('tokens cannot be exchanged, because callers do not send any', {
      hint: 'configure oidc, too',
    });
  if (transport === 'stdio')
    throw invalid('a server that speaks stdio gets no tokens', { hint: 'leave out token_exchange' });
  if (remoteUrl || transport !== 'streamable-http')
    throw notImplemented('tokens are exchanged only for local servers that speak streamable-http', {
      hint: 'leave out token_exchange',
    });
}
