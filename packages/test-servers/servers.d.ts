import type { Readable, Writable } from 'node:stream';

/** What a server may touch of the outside. */
export interface World {
  args: string[];
  env: Record<string, string | undefined>;
  input: Readable;
  output: Writable;
  error: Writable;
  exit: (code: number) => void;
  ignoreTermination: () => void;
  ended?: Promise<unknown>;
}

/** Serves over standard input and output until the input ends. */
export function serveStdio(manners: string, world: World): Promise<void>;
