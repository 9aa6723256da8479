import { messageOf } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import type { WorkloadDatabase, WorkloadRows } from './workload-database.ts';
import type { WorkloadId } from './workload-id.ts';

interface Known {
  /** The package that was looked up. The workload may run another one since then. */
  package: string;
  newest: string;
}

/** What a lookup has found. */
interface Lookup {
  package: string;
  newest?: string | undefined;
  outdated: boolean;
}

/** The longest version that is remembered, because package registries choose versions. */
const maxVersion = 256;

/** The part of a workload that remembers the newer version that the latest lookup has found. */
export class KnownUpdates {
  readonly title = 'its newer version';
  readonly #rows: WorkloadRows;
  readonly #log: Pick<Logger, 'warn'>;
  /** Everything that is stored, because a list has a thousand workloads. */
  readonly #known = new Map<WorkloadId, Known>();

  constructor(database: WorkloadDatabase, log: Pick<Logger, 'warn'>) {
    this.#log = log;
    this.#rows = database.rows({
      names: ['known_updates'],
      schema: `
        CREATE TABLE IF NOT EXISTS known_updates (
          workload TEXT PRIMARY KEY, package TEXT NOT NULL, newest TEXT NOT NULL
        ) STRICT;
      `,
    });
    for (const row of this.#rows.prepare('SELECT workload, package, newest FROM known_updates').all()) {
      const { workload, package: source, newest } = row;
      this.#known.set(workload as WorkloadId, { package: String(source), newest: String(newest) });
    }
  }

  /** Remembers the result of a lookup. Returns whether it contains a newer version that was not known. */
  remember(workload: WorkloadId, { package: source, newest, outdated }: Lookup): boolean {
    if (!outdated || newest === undefined || newest.length > maxVersion) {
      if (this.#known.delete(workload)) this.#store(workload, undefined);
      return false;
    }
    const isNew = this.newerThan(workload, source) !== newest;
    this.#known.set(workload, { package: source, newest });
    if (isNew) this.#store(workload, { package: source, newest });
    return isNew;
  }

  /** The newer version that the latest lookup has found, if the workload still runs the package of the lookup. */
  newerThan(workload: WorkloadId, source: string): string | undefined {
    const found = this.#known.get(workload);
    return found?.package === source ? found.newest : undefined;
  }

  ids(): WorkloadId[] {
    return this.#rows.ids();
  }

  forget(workload: WorkloadId): void {
    this.#known.delete(workload);
    this.#rows.forget(workload);
  }

  /** A full disk must not fail a lookup. */
  #store(workload: WorkloadId, known: Known | undefined): void {
    try {
      if (known === undefined) this.#rows.forget(workload);
      else
        this.#rows
          .prepare('INSERT OR REPLACE INTO known_updates VALUES (?, ?, ?)')
          .run(workload, known.package, known.newest);
    } catch (error) {
      this.#log.warn({ workload, why: messageOf(error) }, 'a newer version is known until the daemon ends');
    }
  }
}
