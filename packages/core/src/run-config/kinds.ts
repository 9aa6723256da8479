import type { Entry } from '@toolhive/clients/entry';
import type { RunConfig } from '@toolhive/contract/run-config';

/** The transport for clients. */
export function proxyModeOf({ transport, proxy_mode: mode }: RunConfig): 'sse' | 'streamable-http' {
  return transport === 'streamable-http' ? transport : (mode ?? 'streamable-http');
}

/** The URL, the package, the image, or the built-in server that a workload runs. */
export function packageOf({ remote_url: url, built_in: builtIn, image = '' }: RunConfig): string {
  return url || (builtIn ?? image);
}

/** Whether ToolHive runs the server in a process or a container. */
export function isLocal(runConfig: RunConfig): boolean {
  return !isRemote(runConfig) && runConfig.built_in === undefined;
}

/** Whether the server is remote. */
export function isRemote({ remote_url: url }: RunConfig): boolean {
  return url !== undefined && url !== '';
}

/** Where clients on this machine reach a workload. */
export function urlOf(runConfig: RunConfig): string {
  const base = `http://${hostInUrl(runConfig.host)}:${runConfig.port}`;
  return proxyModeOf(runConfig) === 'sse'
    ? `${base}/sse#${encodeURIComponent(runConfig.name)}`
    : `${base}/mcp`;
}

/** Replaces an address that represents all addresses with loopback. */
function hostInUrl(host: string): string {
  if (['localhost', '0.0.0.0', '::'].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** A workload's transport name in client files. */
export function entryOf(runConfig: RunConfig): Entry {
  const transport = proxyModeOf(runConfig);
  // The word instead of the number, because earlier versions wrote it and people recognize it.
  return { name: runConfig.name, url: urlOf(runConfig).replace('127.0.0.1', 'localhost'), transport };
}
