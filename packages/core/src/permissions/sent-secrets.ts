import type { RunConfig } from '@toolhive/contract/run-config';
import { requestedOidc } from '@toolhive/access/oidc-config';
import { isReference, parseReference } from '@toolhive/secrets/reference';
import { grantedNetworkOf } from './network.ts';

/** The stored secrets and environment variables that a workload's proxy sends, and their destinations. */
export function sentByProxy(runConfig: RunConfig): string[] {
  const { remote_url: url, remote_auth_config: remote, token_exchange_config: exchange } = runConfig;
  const { telemetry_config: telemetry, secrets } = runConfig;
  const oidc = requestedOidc(runConfig);
  return [
    ...sends(oidc?.client_secret, hostOf(oidc?.introspection_url || oidc?.issuer)),
    ...sends(exchange?.client_secret, hostOf(exchange?.token_url)),
    // Without an issuer, the remote server names the host itself.
    ...sends(remote?.client_secret, hostOf(remote?.token_url || remote?.issuer || url)),
    ...(url ? sends(remote?.bearer_token, hostOf(url)) : []),
    ...(url ? (remote?.headers ?? []) : []).flatMap(({ secret, default: reference }) =>
      secret ? sends(reference, hostOf(url)) : [],
    ),
    ...(url ? (secrets ?? []) : []).flatMap((reference) => sends(reference, hostOf(url))),
    ...(telemetry?.endpoint ? (telemetry.environmentVariables ?? []) : []).map(
      (name) =>
        `the proxy sends the environment variable ${quoted(name)} to ${quoted(telemetry?.endpoint ?? '')}`,
    ),
  ];
}

/** Says which stored secrets a local server gets that reaches a network. */
export function givenToServer(runConfig: RunConfig): string[] {
  const { remote_url: url, secrets } = runConfig;
  const grant = grantedNetworkOf(runConfig);
  if (url || grant.kind === 'none') return [];
  const { hosts, localPorts = [] } = grant.kind === 'rules' ? grant.rules : {};
  const local = localPorts.map((port) => `localhost:${port}`);
  const where = [...(hosts?.map(quoted) ?? ['every public host']), ...local].join(', ');
  return (secrets ?? []).map(
    (reference) => `the secret ${nameOf(reference)} is passed to a server that reaches ${where}`,
  );
}

function sends(reference: string | null | undefined, host: string): string[] {
  return reference ? [`the proxy sends the secret ${nameOf(reference)} to ${host}`] : [];
}

/** A text that is not a reference could be the secret itself. */
function nameOf(reference: string): string {
  return isReference(reference) ? quoted(parseReference(reference).name) : 'of its run config';
}

function hostOf(url = ''): string {
  return quoted(URL.parse(url)?.host ?? url);
}

/** The value may come from another person, and users read it in a list that separates items with semicolons. */
function quoted(text: string): string {
  return /^[\w.:*[\]-]{1,100}$/.test(text) ? text : JSON.stringify(text.replaceAll(';', ',').slice(0, 100));
}
