import { messageOf } from '@toolhive/contract/failure';
import type { StoredRunConfig } from './run-configs.ts';
import type { WorkloadDatabase, WorkloadRows } from './workload-database.ts';
import type { WorkloadId } from './workload-id.ts';

/** The memory of earlier runs of a server, by its version. */
interface KnownState {
  signOf: (version: string) => string | undefined;
  /** Stores the first sign. */
  seen: (version: string, sign: string) => void;
}

/**
 * The part of a workload that remembers the sign that its server keeps something for each session. Another version
 * of the server is another server.
 */
export class SessionSigns {
  readonly title = 'the signs of its sessions';
  readonly #rows: WorkloadRows;

  constructor(database: WorkloadDatabase) {
    this.#rows = database.rows({
      names: ['session_signs'],
      schema: `
        CREATE TABLE IF NOT EXISTS session_signs (
          workload TEXT PRIMARY KEY, version TEXT NOT NULL, sign TEXT NOT NULL
        ) STRICT;
      `,
    });
  }

  proxyOptions(
    { id }: StoredRunConfig,
    { warn }: { warn: (fields: Record<string, unknown>, message: string) => void },
  ): { knownState: KnownState } {
    const signOf = (version: string): string | undefined => {
      try {
        const row = this.#rows
          .prepare('SELECT sign FROM session_signs WHERE workload = ? AND version = ?')
          .get(id, version);
        return row === undefined ? undefined : String(row['sign']);
      } catch (error) {
        warn(
          { reason: messageOf(error) },
          'sessions get separate processes, because earlier runs are unknown',
        );
        return 'forgotten';
      }
    };
    const seen = (version: string, sign: string): void => {
      try {
        this.#rows.prepare('INSERT OR REPLACE INTO session_signs VALUES (?, ?, ?)').run(id, version, sign);
      } catch (error) {
        const reason = messageOf(error); // for example a full disk, which must not stop the server
        warn({ reason, sign }, 'a sign of the sessions is known only until the workload is stopped');
      }
    };
    return { knownState: { signOf, seen } };
  }

  ids(): WorkloadId[] {
    return this.#rows.ids();
  }

  forget(workload: WorkloadId): void {
    this.#rows.forget(workload);
  }
}
