import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import { freePort } from './port.ts';
import { startStdio } from './stdio-instance.ts';

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

/** A proxy with a stdio echo server that all clients share. Returns its port. */
export async function openEchoProxy(): Promise<number> {
  const { proxy, port } = await openProxy('stdio');
  const other = (): Promise<never> => Promise.reject(new Error('all clients share one'));
  const { instance } = startStdio(new URL('./stdio-echo.ts', import.meta.url));
  await proxy.connect(instance, other, new AbortController().signal);
  return port;
}
