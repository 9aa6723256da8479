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
  directory: string;
  /** Reads a file of environment variables. Throws if that is not possible here. */
  readEnvFile: (path: string) => Promise<Record<string, string>>;
}

/** A server's environment variable, or a remote server's header. */
export interface Need {
  kind: 'variable' | 'header';
  name: string;
  description: string;
  required: boolean;
  secret: boolean;
  default?: string | undefined;
}
