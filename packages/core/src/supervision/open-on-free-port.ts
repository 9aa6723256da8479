import { ThvError } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { freePort } from '@toolhive/runtime/free-port';

/** How many ports are tried before the failure is reported. */
const attempts = 5;

/** How a proxy gets a port. */
interface PortChoice<Proxy> {
  open: (runConfig: RunConfig) => Promise<Proxy>;
  /** Whether another workload has or reserves a port. */
  isPortTaken: (port: number) => boolean;
  /** Stores the new port, which the proxy listens on already. */
  onPort: (port: number) => Promise<void>;
}

/**
 * Opens the proxy of a workload. If another program has taken a port that ToolHive chose, opens another port. Only
 * listening shows whether a port is free, so the new port is stored when the proxy listens. A port that the user chose
 * is kept, and the failure to open it is thrown.
 */
export async function openOnFreePort<Proxy extends AsyncDisposable>(
  runConfig: RunConfig,
  { open, isPortTaken, onPort }: PortChoice<Proxy>,
): Promise<Proxy> {
  let { port } = runConfig;
  for (let attempt = 1; ; attempt += 1) {
    const proxy = await open({ ...runConfig, port }).catch((error: unknown) => {
      if (runConfig.automatic_port !== true || attempt === attempts || !isConflict(error)) throw error;
    });
    if (proxy === undefined) {
      port = await freePort(runConfig.host, (candidate) => !isPortTaken(candidate));
      continue;
    }
    if (port !== runConfig.port) await storeOrClose(proxy, () => onPort(port));
    return proxy;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ThvError && error.kind === 'conflict';
}

async function storeOrClose(proxy: AsyncDisposable, store: () => Promise<void>): Promise<void> {
  try {
    await store();
  } catch (error) {
    await proxy[Symbol.asyncDispose]();
    throw error;
  }
}
