import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  randomUUID,
} from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { conflict, unavailable } from '@toolhive/contract/failure';
import { ClientName } from '@toolhive/contract/client-application';
import type { SecretsProvider } from '@toolhive/secrets/provider';
import { filesIn, readIfThere, removeTemporaries, writeWhole } from '@toolhive/state/files';
import * as z from 'zod';

/** One change of one file. */
const Change = z.object({
  id: z.uuid(),
  at: z.string(),
  client: ClientName,
  scope: z.enum(['user', 'project']),
  path: z.string(),
  /** The path without links at the time of the change. Undefined in earlier records. */
  file: z.string().optional(),
  pointer: z.array(z.string()),
  directory: z.string().optional(),
  /** The SHA-256 digests of the texts before and after the change. */
  before: z.string(),
  after: z.string(),
  /** The changed entry, its workload, and where the new entry leads. */
  name: z.string(),
  workload: z.string(),
  target: z.string(),
  /** False between the moment before the file is written and the one after. */
  isDone: z.boolean(),
});
export type Change = z.infer<typeof Change>;

/** A workload that an adoption created. */
const Created = z.object({
  /** The ID of the workload. Undefined until the workload has been found to work. */
  id: z.string().optional(),
  /** The ID of a workload that is still being compared, and can have more access than it keeps. */
  candidate: z.string().optional(),
  /** Its secrets, by key. */
  secrets: z.array(z.string()).default([]),
  at: z.string(),
  /** Identifies the server. */
  fingerprint: z.string(),
});
export type Created = z.infer<typeof Created>;

const Index = z.object({
  format: z.literal(1),
  changes: z.array(Change),
  workloads: z.record(z.string(), Created),
});
type Index = z.infer<typeof Index>;

/** What a file was before a change. */
const Backup = z.object({ text: z.string(), value: z.record(z.string(), z.unknown()) });
export type Backup = z.infer<typeof Backup>;

type Vault = Pick<SecretsProvider, 'get' | 'set'>;

const keyName = 'adoption-backups';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * What adoptions changed, with a backup of each file before each change. The backups contain the credentials of the user, so
 * they are encrypted with a key in the secrets, and only the owner can read them.
 */
export class AdoptionRecord {
  readonly #directory: string;
  #index: Index | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async changes(): Promise<readonly Change[]> {
    return (await this.#read()).changes;
  }

  /**
   * The finished changes whose workloads still exist. `idOf` returns the ID of the workload that has a name now: another one
   * can have the name of an earlier one, whose entries do not belong to it.
   */
  async lastingChanges(idOf: (workload: string) => string | undefined): Promise<readonly Change[]> {
    const { changes, workloads } = await this.#read();
    return changes.filter(({ isDone, workload, at }) => {
      const created = workloads[workload];
      return isDone && created?.id !== undefined && created.id === idOf(workload) && at >= created.at;
    });
  }

  async workloads(): Promise<Readonly<Record<string, Created>>> {
    return (await this.#read()).workloads;
  }

  backupPath(id: string): string {
    return join(this.#directory, `${id}.backup`);
  }

  /** Stores the backup and announces a change, before the file is written. */
  async announce(change: Omit<Change, 'id' | 'isDone'>, backup: Backup, vault: Vault): Promise<string> {
    const id = randomUUID();
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const sealed = encrypt(await keyOf(vault), JSON.stringify(backup), id);
    await writeWhole(this.backupPath(id), sealed);
    const index = await this.#read();
    await this.#write({ ...index, changes: [...index.changes, { ...change, id, isDone: false }] });
    return id;
  }

  async complete(id: string): Promise<void> {
    const index = await this.#read();
    const changes = index.changes.map((change) => (change.id === id ? { ...change, isDone: true } : change));
    await this.#write({ ...index, changes });
  }

  /** Notes where a changed entry leads now. If its file was as ToolHive had left it, the file can still be restored as a whole. */
  async retarget(
    id: string,
    target: string,
    { before, after }: { before: string; after: string },
  ): Promise<void> {
    const index = await this.#read();
    const changes = index.changes.map((change) => ({
      ...change,
      ...(change.id === id ? { target } : {}),
      ...(change.after === before ? { after } : {}),
    }));
    await this.#write({ ...index, changes });
  }

  /** Forgets changes, and then removes their backups. */
  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const index = await this.#read();
    await this.#write({ ...index, changes: index.changes.filter(({ id }) => !ids.includes(id)) });
    for (const id of ids) await rm(this.backupPath(id), { force: true });
  }

  /** Removes backups without a change, which a killed daemon left. */
  async sweep(): Promise<void> {
    const { changes } = await this.#read();
    const known = new Set(changes.map(({ id }) => this.backupPath(id)));
    await removeTemporaries(this.#directory);
    for (const name of await filesIn(this.#directory)) {
      const path = join(this.#directory, name);
      if (name.endsWith('.backup') && !known.has(path)) await rm(path, { force: true });
    }
  }

  /** Throws `conflict` for a backup that is damaged or missing. */
  async backup(id: string, vault: Vault): Promise<Backup> {
    const path = this.backupPath(id);
    try {
      return Backup.parse(JSON.parse(decrypt(await keyOf(vault), await readFile(path), id)));
    } catch (cause) {
      throw conflict(`the backup ${path} is missing or damaged`, { cause });
    }
  }

  async setWorkload(name: string, created: Created | undefined): Promise<void> {
    const index = await this.#read();
    const { [name]: _before, ...others } = index.workloads;
    const workloads = created === undefined ? others : { ...others, [name]: created };
    await this.#write({ ...index, workloads });
  }

  /** Identifies content without revealing it. */
  async fingerprint(content: string, vault: Vault): Promise<string> {
    return createHmac('sha256', await keyOf(vault))
      .update(content)
      .digest('hex');
  }

  async #read(): Promise<Index> {
    if (this.#index !== undefined) return this.#index;
    const path = join(this.#directory, 'index.json');
    const text = await readIfThere(path);
    try {
      this.#index =
        text === undefined ? { format: 1, changes: [], workloads: {} } : Index.parse(JSON.parse(text));
    } catch (cause) {
      // Without the index, nothing tells what to restore. It stays for a person to repair.
      throw unavailable(`${path} is damaged, so the adopted servers are unknown`, {
        hint: 'restore the file from a backup. If there is none, move it away: adopted entries then stay in client files',
        cause,
      });
    }
    return this.#index;
  }

  async #write(index: Index): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await writeWhole(join(this.#directory, 'index.json'), `${JSON.stringify(index, null, 2)}\n`);
    this.#index = index;
  }
}

/** The digest of a text. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function keyOf(vault: Vault): Promise<Buffer> {
  const known = await vault.get(keyName);
  if (known !== undefined) return Buffer.from(known, 'base64url');
  const key = randomBytes(32);
  await vault.set(keyName, key.toString('base64url'));
  return key;
}

function encrypt(key: Buffer, text: string, id: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(id));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, bytes: Buffer, id: string): string {
  const end = bytes.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(end));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()]).toString('utf8');
}
