import type { CreateWorkload } from '@toolhive/contract/workload';

/** A server from another program's configuration, as ToolHive runs it. */
export interface Pasted {
  request: CreateWorkload;
  /** The differences that the user should know. */
  notes: string[];
}

/** The environment that the other program would see, and where its relative paths start. */
export interface PastedFrom {
  env: Readonly<Record<string, string | undefined>>;
  /** Undefined if it is not known, as for a document without a file. */
  directory: string | undefined;
  /** Reads a file that the user's own command or configuration names. Throws if that is not possible here. */
  readFile: (path: string) => Promise<string>;
  /** Where programs are looked for by their names, after the `PATH` of `env`. */
  searchPath?: string | undefined;
  /** The program of the command line, as written. */
  program?: string | undefined;
}

/** A value that a server needs from the user. */
export interface Need {
  kind: 'variable' | 'header' | 'placeholder';
  name: string;
  description: string;
  required: boolean;
  /** Whether a user at a terminal is asked for a value that is not required. */
  isOffered?: boolean | undefined;
  secret: boolean;
  default?: string | undefined;
  /** The placeholder in the request: `${input:org}`. Undefined for a variable in the URL of a registry entry. */
  token?: string | undefined;
  /** The value as its author wrote it, with the placeholders that the user fills. May contain secrets. */
  template?: Template | undefined;
}

export interface Template {
  text: string;
  open: readonly { token: string; name: string }[];
}

/** Names the values that the server can do without. */
export function optionalNotes(needs: readonly Need[]): string[] {
  const names = needs.filter(({ required }) => !required).map(({ name }) => name);
  return names.length === 0 ? [] : [`optional, and not set: ${names.join(', ')}`];
}
