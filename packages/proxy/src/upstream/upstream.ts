import type { Instance } from '@toolhive/runtime/runtime';
import type { ServerAddress } from '../transport/upstream-client.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Limits } from '../bridge/limits.ts';
import type { Exchange, MessageMiddleware } from '../pipeline.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';

/** Starts one more instance of the same server. */
export type StartInstance = (signal: AbortSignal) => Promise<Instance>;

/** A server that runs, here or elsewhere. */
export type RunningServer = Pick<Instance, 'stdio'> & { address?: ServerAddress };

export interface UpstreamOptions {
  version: string;
  sessions: 'own' | 'shared';
  /** What messages go through on their way to the server, the outermost first. */
  messages: readonly MessageMiddleware[];
  /** Where they are to be others than usual. */
  limits?: Partial<Limits>;
  now?: () => number;
  /** The limits on what clients and servers send. */
  input: WorkloadInput;
  /** Told that the server has exceeded a limit, and has to be stopped. */
  onExcess: (reason: string) => void;
  /** Told of bugs. */
  onFault: (error: unknown) => void;
}

/** What a proxy puts its requests to, the same for servers of every transport. */
export interface Upstream {
  /** How the server talks, once that is known. */
  readonly generation: ProtocolGeneration | undefined;
  connect(server: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void>;
  disconnect(reason: string, final: boolean): void;
  handle(exchange: Exchange): void;
  close(): Promise<void>;
}
