import type { Client } from '@toolhive/contract/client';
import { conflict } from '@toolhive/contract/failure';
import type { CommandCall } from '../command.ts';

type Asking = Pick<CommandCall, 'client' | 'signal'>;
type Path = '/mcp' | '/sse';
type Found = Awaited<ReturnType<Client['getWorkload']>>;

/** A server URL: the given one, or the endpoint of the named workload. */
export async function endpointOf(server: string, call: Asking, path?: Path): Promise<string> {
  return /^https?:\/\//i.test(server) ? server : workloadEndpoint(server, call, path);
}

/** The endpoint of a workload, which must run. Its proxy serves both, whichever of them its URL names. */
export async function workloadEndpoint(workload: string, call: Asking, path: Path = '/mcp'): Promise<string> {
  const { proxy_url: url } = await runningWorkload(workload, call);
  return new URL(path, url).href;
}

/** A workload in command output. Its URL is the client endpoint, here and in lists. */
export function shownWorkload({ url: remote, proxy_url: url, ...rest }: Found) {
  return { ...rest, url, ...(remote === undefined ? {} : { remote_url: remote }) };
}

/** Throws `conflict` unless the workload runs. */
export async function runningWorkload(workload: string, { client, signal }: Asking): Promise<Found> {
  const daemon = await client();
  const found = await daemon.getWorkload({ params: { name: workload } }, { signal });
  if (found.status === 'running') return found;
  throw conflict(`${found.name} is not running: its status is ${found.status}`, {
    hint: hintFor(found),
  });
}

function hintFor({ name, status }: Found): string {
  if (status === 'starting') return `wait until ${name} runs, and try again: thv logs ${name} --follow`;
  if (status === 'error' || status === 'unhealthy') return `run thv doctor ${name} to find the cause`;
  return `run thv start ${name} to start it`;
}
