import { conflict } from '@toolhive/contract/failure';
import type { CommandCall } from '../command.ts';

type Asking = Pick<CommandCall, 'client' | 'signal'>;
type Path = '/mcp' | '/sse';

/** The URL of a server: as it was given, or the endpoint of the workload of that name. */
export async function endpointOf(server: string, call: Asking, path?: Path): Promise<string> {
  return /^https?:\/\//i.test(server) ? server : workloadEndpoint(server, call, path);
}

/** The endpoint of a workload, which must run. Its proxy serves both, whichever of them its URL names. */
export async function workloadEndpoint(
  workload: string,
  { client, signal }: Asking,
  path: Path = '/mcp',
): Promise<string> {
  const hive = await client();
  const { name, status, url } = await hive.getWorkload({ params: { name: workload } }, { signal });
  if (status !== 'running') {
    throw conflict(`workload ${name} does not run, it is ${status}`, {
      hint: `\`thv restart ${name}\` starts it`,
    });
  }
  return new URL(path, url).href;
}
