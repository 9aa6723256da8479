import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import { freePort } from './port.ts';

/** A proxy with the daemon's settings, on a free port. */
export async function openProxy(
  transport: ProxyOptions['transport'],
  tools: ProxyOptions['tools'] = {},
): Promise<{ proxy: WorkloadProxy; port: number }> {
  const port = await freePort();
  const fail = (trouble: unknown): void => {
    throw new Error('the proxy had something to report', { cause: trouble });
  };
  const proxy = await WorkloadProxy.open({
    workload: 'bench',
    host: '127.0.0.1',
    port,
    transport,
    sessions: 'shared',
    tools,
    version: 'v0.0.0',
    onInvalidOutput: fail,
    onExcess: fail,
    onFault: fail,
  });
  return { proxy, port };
}
