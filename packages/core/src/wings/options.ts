import type { Lookup } from '@toolhive/outgoing/way-out';
import type { ReadTrustedRoot } from '@toolhive/registry/trusted-root';
import type { Runtime } from '@toolhive/runtime/runtime';
import type { SecretsOptions } from '@toolhive/secrets/secrets';
import type { StatePaths } from '@toolhive/state/paths';
import type { WorkloadDatabase } from '@toolhive/state/workload-database';
import type { Logger } from 'pino';
import type { Part } from '../parts/part.ts';
import type { HomeLimit } from '../supervision/home-limit.ts';
import type { SupervisorTiming } from '../supervision/supervisor.ts';

export interface CoreOptions {
  /** Determines directories, the runtime, and the installers. Never passed to servers. */
  env: NodeJS.ProcessEnv;
  version: string;
  log: Logger;
  /** Replaces the runtimes of this machine, in tests. */
  runtimes?: (daemonId: string, paths: StatePaths) => Runtime[];
  timing?: Partial<SupervisorTiming>;
  /** Replaces the limit on home directories, in tests. */
  homeLimit?: ConstructorParameters<typeof HomeLimit>[0];
  /** Replaces the secret store in tests. */
  secrets?: Pick<SecretsOptions, 'keyring' | 'cost'>;
  /** Replaces the browser of the user, in tests. */
  openBrowser?: (url: string) => Promise<unknown>;
  /** Where the document is published that describes this client to authorization servers, if anywhere. */
  clientDocument?: string | undefined;
  /** Replaces how the names of remote servers are resolved, in tests. */
  lookup?: Lookup;
  /** Replaces the signature verification in tests. */
  readTrustedRoot?: ReadTrustedRoot;
  /** Adds parts to each workload, in tests. */
  moreParts?: (database: WorkloadDatabase) => Part[];
  /** Replaces the clock, in tests. */
  now?: () => Date;
}
