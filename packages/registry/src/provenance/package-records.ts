import type { DatabaseSync } from 'node:sqlite';
import { Provenance } from '@toolhive/contract/provenance';
import type { Artifact } from '@toolhive/runtime/runtime';
import type { PackageScheme } from '@toolhive/runtime/source';
import type { Logger } from 'pino';
import { openRecoverable } from '@toolhive/state/recoverable-database';

/** A package ecosystem, or container images, whose versions are digests. */
type RecordedScheme = PackageScheme | 'image';

/** What is known of a version of a package. */
export interface PackageRecord {
  integrity: string;
  publishedAt?: string | undefined;
  /** Absent for ecosystems without attestations. */
  provenance?: Provenance | undefined;
}

/** The SQLite database with the content of every version that was installed on this machine. */
export class PackageRecords implements Disposable {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS artifacts (
        scheme TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, integrity TEXT NOT NULL,
        PRIMARY KEY (scheme, name, version)
      ) STRICT;
      CREATE TABLE IF NOT EXISTS files (
        scheme TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, file TEXT NOT NULL, integrity TEXT NOT NULL,
        PRIMARY KEY (scheme, name, version, file)
      ) STRICT;
      CREATE TABLE IF NOT EXISTS packages (
        scheme TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, published_at TEXT, provenance TEXT,
        PRIMARY KEY (scheme, name, version)
      ) STRICT;
    `);
  }

  /** A damaged file is set aside, and then every version is installed for the first time again. */
  static async open(path: string, log: Logger): Promise<PackageRecords> {
    return openRecoverable(path, {
      log,
      use: (database) => new PackageRecords(database),
      inMemory: 'the content of packages is pinned only until the daemon ends',
    });
  }

  /**
   * The first artifact whose content differs from that of an earlier installation, with the earlier hash. A version can
   * consist of several files, such as the wheels for several Python versions, and each file has a hash. `published` lists
   * the files that the registry has of the versions now.
   */
  changed(
    scheme: RecordedScheme,
    artifacts: readonly Artifact[],
    published: readonly Artifact[] = [],
  ): { artifact: Artifact; before: string } | undefined {
    for (const artifact of artifacts) {
      const before = this.#recordedOf(scheme, artifact, published);
      if (before !== undefined && before !== artifact.integrity) return { artifact, before };
    }
    return undefined;
  }

  /** The recorded hash of the file that an artifact is. Undefined if the file is new. */
  #recordedOf(
    scheme: RecordedScheme,
    artifact: Artifact,
    published: readonly Artifact[],
  ): string | undefined {
    const { name, version, file } = artifact;
    const files = this.#database
      .prepare('SELECT file, integrity FROM files WHERE scheme = ? AND name = ? AND version = ?')
      .all(scheme, name, version);
    const known = files.find((row) => row['file'] === file)?.['integrity'];
    if (typeof known === 'string') return known;
    const first = this.#database
      .prepare('SELECT integrity FROM artifacts WHERE scheme = ? AND name = ? AND version = ?')
      .get(scheme, name, version)?.['integrity'];
    if (typeof first !== 'string') return undefined;
    // The hash may be that of another file. Earlier versions of ToolHive recorded no files, so the registry must know it.
    const isOfOther =
      file !== undefined &&
      (files.some((row) => row['integrity'] === first) ||
        published.some(
          (one) =>
            one.name === name && one.version === version && one.file !== file && one.integrity === first,
        ));
    return isOfOther ? undefined : first;
  }

  /** Remembers the content of artifacts that are new, and of the other files of their versions. */
  pin(scheme: RecordedScheme, artifacts: readonly Artifact[], published: readonly Artifact[] = []): void {
    const insert = this.#database.prepare('INSERT OR IGNORE INTO artifacts VALUES (?, ?, ?, ?)');
    const insertFile = this.#database.prepare('INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?, ?)');
    this.#database.exec('BEGIN');
    try {
      for (const { name, version, integrity } of artifacts) insert.run(scheme, name, version, integrity);
      for (const { name, version, file, integrity } of [...artifacts, ...published]) {
        if (file !== undefined) insertFile.run(scheme, name, version, file, integrity);
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // a full disk has rolled back already
      throw error;
    }
  }

  save(
    scheme: RecordedScheme,
    { name, version }: Artifact,
    { publishedAt, provenance }: Omit<PackageRecord, 'integrity'>,
  ): void {
    this.#database
      .prepare(
        `INSERT INTO packages VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         published_at = coalesce(excluded.published_at, published_at), provenance = coalesce(excluded.provenance, provenance)`,
      )
      .run(
        scheme,
        name,
        version,
        publishedAt ?? null,
        provenance === undefined ? null : JSON.stringify(provenance),
      );
  }

  find(scheme: RecordedScheme, name: string, version: string): PackageRecord | undefined {
    const row = this.#database
      .prepare(
        `SELECT integrity, published_at, provenance FROM artifacts
         LEFT JOIN packages USING (scheme, name, version) WHERE scheme = ? AND name = ? AND version = ?`,
      )
      .get(scheme, name, version);
    if (row === undefined) return undefined;
    const { published_at: publishedAt, provenance } = row;
    return {
      integrity: String(row['integrity']),
      ...(typeof publishedAt === 'string' ? { publishedAt } : {}),
      ...(typeof provenance === 'string' ? { provenance: Provenance.parse(JSON.parse(provenance)) } : {}),
    };
  }

  /** The newest verified provenance of another version of the same package. */
  otherProvenance(scheme: RecordedScheme, name: string, besides: string): Provenance | undefined {
    const rows = this.#database
      .prepare(
        'SELECT provenance FROM packages WHERE scheme = ? AND name = ? AND version != ? ORDER BY rowid DESC',
      )
      .all(scheme, name, besides);
    return rows
      .flatMap(({ provenance }) =>
        typeof provenance === 'string' ? [Provenance.parse(JSON.parse(provenance))] : [],
      )
      .find(({ status }) => status === 'verified');
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
