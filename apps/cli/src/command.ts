import type { Client } from '@toolhive/contract/client';
import type { Out } from './out.ts';

/** A command, declared once: its parser and its help come from it. */
export interface Command {
  /** What is typed, without `thv`: `run`, `runtime check`. */
  path: string;
  aliases?: readonly string[];
  summary: string;
  description?: string;
  arguments?: readonly Argument[];
  flags?: readonly Flag[];
  examples?: readonly string[];
  /** Not shown in help; for the product's own use. */
  hidden?: boolean;
  /** What stands behind `--` is the server's, and comes as `rest`. */
  takesRest?: boolean;
  /** Loads what carries it out, only when it is carried out. */
  load: () => Promise<{ run: Run }>;
}

interface Argument {
  name: string;
  description: string;
  required?: boolean;
  variadic?: boolean;
}

export interface Flag {
  /** `name`, and perhaps `shorthand`. */
  name: string;
  shorthand?: string;
  description: string;
  kind: 'boolean' | 'string' | 'number' | 'list';
  /** How the value is called in help. */
  value?: string;
  default?: string | number | boolean;
  choices?: readonly string[];
  hidden?: boolean;
}

/** Carries a command out; what it throws is reported and decides the exit code. */
type Run = (call: CommandCall) => Promise<void>;

export interface CommandCall {
  arguments: readonly string[];
  flags: FlagValues;
  rest: readonly string[];
  out: Out;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** The hive's API; starts a hive in the background when there is none. */
  client: () => Promise<Client>;
}

/** The values of flags by their names, as their kinds say. */
export interface FlagValues {
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  list(name: string): string[];
  has(name: string): boolean;
}
