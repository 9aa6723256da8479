import type { CreateWorkload } from '@toolhive/contract/workload';

/** A server that someone configured for another program, as ToolHive runs it. */
export interface Pasted {
  request: CreateWorkload;
  /** The differences that the user should know. */
  notes: string[];
}

/** The environment that the other program would see, and where its relative paths start. */
export interface PastedFrom {
  env: Readonly<Record<string, string | undefined>>;
  directory: string;
}
