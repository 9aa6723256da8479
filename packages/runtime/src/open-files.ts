import { readFileSync } from 'node:fs';

/** The most files that this process can have open. Node.js raises its limit to that when it starts. */
export function openFilesCeiling(): number {
  const ceiling = /^Max open files\s+\S+\s+(\d+)/m.exec(limitsText())?.[1];
  return ceiling === undefined ? Number.MAX_SAFE_INTEGER : Number(ceiling);
}

function limitsText(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return ''; // this kernel has no such file
  }
}

/** What a daemon with a few workloads opens without any client: databases, logs, listeners, pipes, and namespaces. */
const OWN_FILES = 64;
/** The part that connections may use. The rest is for what has no budget, such as files that are open for a moment. */
const CONNECTIONS_PART = 0.75;
/** How many workloads can use up their budgets at once. */
const SHARES = 4;
/** The pipes, sockets, and namespaces of a server in a sandbox, also while it starts. */
const FILES_PER_PROCESS = 10;

/** How many connections and processes may exist at once, so that no part of a process uses all files that it can open. */
export interface FileBudgets {
  /** Connections of the clients and to the servers of all workloads. */
  allConnections: number;
  /** Connections of clients to one workload. */
  clients: number;
  /** Connections to the server of one workload over HTTP. */
  upstream: number;
  /** Clients of one workload with conversations of their own over HTTP. Each has a stream and a request. */
  conversations: number;
  /** Clients of one workload with processes of their own. */
  processes: number;
  /** Connections of a program that installs a package, several times as many as npm, uv, and Go use. Each leads to another one. */
  installer: number;
  /** Connections of a server through a forward proxy. Each leads to another one. */
  forwarded: number;
  /** Connections to the API. */
  api: number;
}

/** Derives the budgets from the number of files that a process can have open. */
export function fileBudgets(openFiles: number): FileBudgets {
  const all = Math.max(OWN_FILES, Math.floor(openFiles * CONNECTIONS_PART) - OWN_FILES);
  // One half of a share is for clients, the other one for what is done for them.
  const half = Math.floor(all / SHARES / 2);
  const budget = (filesEach: number, fewest: number, most: number): number =>
    Math.min(most, Math.max(fewest, Math.floor(half / filesEach)));
  return {
    allConnections: all,
    clients: budget(1, 16, 4_000),
    upstream: budget(1, 16, 4_000),
    conversations: budget(2, 4, 1_000),
    processes: budget(FILES_PER_PROCESS, 2, 16),
    installer: budget(2, 8, 256),
    forwarded: budget(2, 8, 1_024),
    api: budget(1, 16, 1_000),
  };
}

/** Counts the open connections of one part of a process, and of several parts together. */
export class ConnectionCount {
  readonly #limit: number;
  readonly #together: ConnectionCount | undefined;
  #open = 0;

  constructor(limit: number, together?: ConnectionCount) {
    this.#limit = limit;
    this.#together = together;
  }

  get isFull(): boolean {
    return this.#open >= this.#limit || this.#together?.isFull === true;
  }

  /** Counts a connection, also if there are too many. Returns a function to call once when the connection has ended. */
  add(): () => void {
    this.#open += 1;
    const ended = this.#together?.add();
    return () => {
      this.#open -= 1;
      ended?.();
    };
  }
}

/** The budgets of a process, and its connections. */
export class OpenFiles {
  readonly budgets: FileBudgets;
  readonly #all: ConnectionCount;

  constructor(openFiles: number) {
    this.budgets = fileBudgets(openFiles);
    this.#all = new ConnectionCount(this.budgets.allConnections);
  }

  /** A count of one more part, which ends with its connections. */
  count(limit: number): ConnectionCount {
    return new ConnectionCount(limit, this.#all);
  }
}

/** Those of this process. */
export const openFiles = new OpenFiles(openFilesCeiling());
