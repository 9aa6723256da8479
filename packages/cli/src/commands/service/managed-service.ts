import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ThvError, messageOf, unavailable } from '@toolhive/contract/failure';

/** A service that an operating system can run. */
export interface ServiceDefinition {
  /** The program and its arguments. */
  command: readonly [string, ...string[]];
  environment: Readonly<Record<string, string>>;
  /** Exit codes after which a restart would fail the same way. */
  finalExitCodes: readonly number[];
}

interface ServiceState {
  /** The operating system starts the service when the user logs in. */
  enabled: boolean;
  running: boolean;
  /** The process ID of the daemon. */
  pid: number | undefined;
}

/** Where an operating system keeps services, and how it controls them. */
export interface ServiceManager {
  /** The name that users know, such as `systemd`. */
  name: string;
  /** The definition file. */
  path: string;
  /** How to see the output of the service. */
  logs: string;
  /** An action that the user may want to take after an installation. */
  afterInstallation?: string;
  /** Returns the content of the definition file. Throws `invalid` if a value cannot be part of it. */
  format(definition: ServiceDefinition): string;
  /** Enables and starts the service whose definition file exists, or restarts it. */
  enable(): Promise<void>;
  /** Starts the service that is installed, unless the service runs. */
  start(): Promise<void>;
  /** Stops and disables the service. */
  disable(): Promise<void>;
  /** Notices that the definition file was removed. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
}

/** A program failed, with the text that it printed. */
export interface ProgramFailure {
  code: number;
  output: string;
}

/** Runs a program of the operating system and returns its output. Throws `unavailable` if the program is missing or fails. */
export async function control(program: string, ...args: string[]): Promise<string> {
  const result = await attempt(program, ...args);
  if (typeof result === 'string') return result;
  throw unavailable(`${program} ${args.join(' ')} failed: ${result.output}`);
}

/** Like `control`, but returns the failure of the program. */
export async function attempt(program: string, ...args: string[]): Promise<string | ProgramFailure> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: 60_000 });
    return stdout;
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: unknown; stderr?: string; stdout?: string };
    if (code === 'ENOENT') throw unavailable(`${program} is not installed`, { cause: error });
    const output = (stderr.trim() || stdout.trim() || messageOf(error)).split('\n').at(-1) ?? '';
    return { code: typeof code === 'number' ? code : 1, output };
  }
}

/** Whether an error says that the service manager itself does not answer. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ThvError && error.kind === 'unavailable';
}
