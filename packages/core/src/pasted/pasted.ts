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
  /** Reads a file of environment variables. Throws if that is not possible here. */
  readEnvFile: (path: string) => Promise<Record<string, string>>;
}

/** An environment variable of a server, or a header of a remote one. */
export interface Need {
  kind: 'variable' | 'header';
  name: string;
  description: string;
  required: boolean;
  secret: boolean;
  default?: string | undefined;
}
