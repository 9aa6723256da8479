import type { OpenFiles } from '@toolhive/runtime/open-files';
import type { Instance } from '@toolhive/runtime/runtime';
import type { ServerAddress } from '../transport/upstream-client.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { OpenSession } from '../bridge/bridge.ts';
import type { SharedStreams } from '../bridge/shared-streams.ts';
import type { SealKeys } from '../sealing/seal.ts';
import type { Limits } from '../bridge/limits.ts';
import type { KnownState } from '../bridge/sharing.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';

/** Starts another instance of the same server. */
export type StartInstance = (signal: AbortSignal) => Promise<Instance>;

/** A running server, on this machine or elsewhere. */
export type RunningServer = Pick<Instance, 'stdio'> & {
  /** Ends its process, which is not a failure, because the processes of clients suffice. By default, it stays. */
  rest?: () => Promise<void>;
  address?: ServerAddress;
  pods?: ServerPods;
  /** Its exact source. Experience with another one does not count. */
  version?: string;
};

/** One of several equal servers, each of which keeps its own sessions. */
export interface ServerPod {
  /** Names the server as long as its sessions can exist. */
  id: string;
  address: ServerAddress;
  /** The server is about to end, so that new sessions begin elsewhere. */
  isRetiring: boolean;
}

/** The servers that accept connections, which can change at any time. */
export interface ServerPods {
  /** Calls back now and after every change, until the signal aborts. */
  follow(changed: (pods: readonly ServerPod[]) => void, signal: AbortSignal): void;
}

export interface UpstreamOptions {
  workload: string;
  version: string;
  sessions: 'auto' | 'own' | 'shared';
  /** The memory for sessions that are `auto`. */
  knownState?: KnownState | undefined;
  /** The address of the proxy. */
  host: string;
  messages: MessagePipeline;
  /** The events of sessions that other proxies can continue. By default, only this proxy knows them. */
  shared?: SharedStreams | undefined;
  /** The keys for the IDs of tasks. */
  taskKeys?: SealKeys | undefined;
  /** Callers are authenticated, perhaps with an exchange of their tokens for tokens of the server. */
  access?: { exchange?: unknown } | undefined;
  /** Believe the `X-Forwarded-*` headers of requests. */
  trustProxyHeaders?: boolean | undefined;
  /** Limits that differ from the default ones. */
  limits?: Partial<Limits>;
  /** The budgets that the workload shares with others. */
  files: OpenFiles;
  now?: () => number;
  /** The limits on what clients and servers send. */
  input: WorkloadInput;
  /** Told that the server has exceeded a limit and must be stopped. */
  onExcess: (reason: string) => void;
  /** Told of bugs. */
  onFault: (error: unknown) => void;
}

/** The server behind a proxy, with any transport. */
export interface Upstream {
  /** The protocol versions that the server supports, once that is known. */
  readonly generation: ProtocolGeneration | undefined;
  /** The version that the server speaks with the proxy, if the proxy is its client. */
  readonly serverVersion: string | undefined;
  /** Which sessions share processes and why, if clients cause processes. */
  readonly sharing?: string;
  connect(server: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void>;
  /**
   * Begins a session with the connected server and reads a list. Returns how the server refuses the list, if it does.
   * Throws `unavailable` if a client could not begin a session.
   */
  checkSession(signal: AbortSignal): Promise<string | undefined>;
  disconnect(reason: string, final: boolean): void;
  handle(exchange: Exchange): void;
  /** The sessions of clients. */
  openSessions(): OpenSession[];
  /** Ends a session. Returns whether there was one. Throws `unsupported` if the server refuses. */
  endSession(id: string): Promise<boolean>;
  close(): Promise<void>;
}
