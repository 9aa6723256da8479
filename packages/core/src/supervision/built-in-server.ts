import type { RunConfig } from '@toolhive/contract/run-config';
import { refuseUnenforced } from '../permissions/enforcement.ts';
import type { StartedServer } from './run-loop.ts';

/** A server that is a part of the daemon. */
export interface BuiltInServer extends AsyncDisposable {
  readonly stdio: NonNullable<StartedServer['server']['stdio']>;
}

/** Opens the built-in server of a run config. `note` writes to the server's log. */
type OpenBuiltIn = (runConfig: RunConfig, note: (text: string) => void) => Promise<BuiltInServer>;

export interface BuiltInServerOptions {
  openBuiltIn: OpenBuiltIn;
  timing: { startMs: number };
}

/** Starts a server that is a part of the daemon. Such a server never ends by itself. */
export async function startBuiltInServer(
  runConfig: RunConfig,
  { openBuiltIn, timing }: BuiltInServerOptions,
  note: (text: string) => void,
): Promise<StartedServer> {
  refuseUnenforced(runConfig);
  const server = await openBuiltIn(runConfig, note);
  return {
    id: `${runConfig.built_in} in the daemon`,
    server: { stdio: server.stdio },
    startAnother: () => Promise.reject(new Error('all clients share a built-in server')),
    ended: new Promise(() => {}),
    stop: async () => server[Symbol.asyncDispose](),
    firstAnswerMs: timing.startMs,
  };
}
