import { ThvError } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Vault } from '@toolhive/secrets/encrypted';
import { adoptedWorkloadId, WorkloadId } from '@toolhive/state/workload-id';

/** How we are known to an authorization server, and to no other. */
const Client = z.object({
  issuer: z.string(),
  kind: z.enum(['configured', 'document', 'dynamic']),
  id: z.string(),
  /** Only of one that was registered by us. */
  secret: z.string().optional(),
  secretExpiresAtMs: z.number().optional(),
  /** The client authentication method, if the registration specified one. */
  authentication: z.string().optional(),
  redirectUri: z.string(),
  /** The last sign-in got no answer, perhaps because the authorization server has forgotten the client. */
  isDoubtful: z.boolean().optional(),
});
export type Client = z.infer<typeof Client>;

const Tokens = z.object({
  access: z.string(),
  refresh: z.string().optional(),
  issuedAtMs: z.number(),
  expiresAtMs: z.number().optional(),
  /** The granted scopes, if the authorization server named them. */
  scope: z.string().optional(),
});
export type Tokens = z.infer<typeof Tokens>;

/** What came of signing in. */
const Grant = z.object({
  /** What the tokens are for (RFC 8707). Empty if the request did not say. */
  resource: z.string(),
  /** The requested scopes, which the next sign-in requests again. */
  scopes: z.array(z.string()),
  tokens: Tokens,
});
export type Grant = z.infer<typeof Grant>;

/** Everything that is worth keeping about one remote server. */
const Kept = z.object({
  version: z.literal(1),
  /** The server and the settings for which the tokens were issued. With others, they are useless. */
  purpose: z.string(),
  client: Client.optional(),
  grant: Grant.optional(),
});
export type Kept = z.infer<typeof Kept>;

const prefix = 'sign-in/';
/** Earlier versions stored tokens by workload name. */
const prefixByName = 'remote-auth/';

/** What could not be stored in the secrets, which lives as long as the daemon. */
type Unstored = Map<WorkloadId, Kept>;

/** Where the tokens of one workload outlive its connection, and if possible the daemon. */
export class TokenStore {
  readonly #workload: { id: WorkloadId; name: string } | undefined;
  readonly #vault: () => Vault | undefined;
  readonly #unstored: Unstored;

  /**
   * Looks up the secret store each time, because secrets can be set up while a workload runs. Without a workload,
   * nothing is stored.
   */
  constructor(
    workload: { id: WorkloadId; name: string } | undefined,
    vault: () => Vault | undefined,
    unstored: Unstored = new Map(),
  ) {
    this.#workload = workload;
    this.#vault = workload === undefined ? () => undefined : vault;
    this.#unstored = unstored;
  }

  /** Whether what `load` returns has still to be stored. */
  get isUnstored(): boolean {
    return this.#workload !== undefined && this.#unstored.has(this.#workload.id);
  }

  /** Undefined if nothing valid is stored. Throws while the store is inaccessible. */
  async load(): Promise<Kept | undefined> {
    const unstored = this.#workload && this.#unstored.get(this.#workload.id);
    if (unstored !== undefined) return unstored;
    const vault = this.#vault();
    const text = (await vault?.get(this.#key)) ?? (await this.#adopt(vault));
    const kept = Kept.safeParse(text === undefined ? undefined : parseJson(text));
    return kept.success ? kept.data : undefined;
  }

  /**
   * Returns why the tokens could not be stored, if so. This is not a failure, because the tokens in memory still
   * work.
   */
  async save(kept: Kept): Promise<string | undefined> {
    const vault = this.#vault();
    const reason =
      vault === undefined
        ? 'no encrypted secrets are set up'
        : await reasonOf(vault.set(this.#key, JSON.stringify(kept)));
    if (this.#workload === undefined) return reason;
    if (reason === undefined) this.#unstored.delete(this.#workload.id);
    else this.#unstored.set(this.#workload.id, kept);
    return reason;
  }

  get #key(): string {
    return `${prefix}${this.#workload?.id}`;
  }

  /** What a workload stored before IDs existed. */
  async #adopt(vault: Vault | undefined): Promise<string | undefined> {
    if (vault === undefined || this.#workload === undefined) return undefined;
    const { id, name } = this.#workload;
    if (adoptedWorkloadId(name) !== id) return undefined;
    const before = `${prefixByName}${name}`;
    const text = await vault.get(before);
    if (text === undefined) return undefined;
    await reasonOf(vault.set(this.#key, text).then(() => vault.delete(before)));
    return text;
  }
}

/** The tokens of all workloads. */
export class SignIns {
  readonly #vault: () => Vault | undefined;
  readonly #unstored: Unstored = new Map();

  constructor(vault: () => Vault | undefined) {
    this.#vault = vault;
  }

  of(workload: { id: WorkloadId; name: string }): TokenStore {
    return new TokenStore(workload, this.#vault, this.#unstored);
  }

  /** The workloads that tokens are stored of. Throws while the store is inaccessible. */
  async ids(): Promise<WorkloadId[]> {
    const ids = ((await this.#vault()?.names()) ?? []).flatMap((key) => ownerOf(key) ?? []);
    return [...new Set(ids)];
  }

  /** Deletes a workload's tokens. Throws while the store is inaccessible. */
  async forget(id: WorkloadId): Promise<void> {
    this.#unstored.delete(id);
    const vault = this.#vault();
    for (const key of (await vault?.names()) ?? []) if (ownerOf(key) === id) await vault?.delete(key);
  }
}

/** The workload of a key in the vault. */
function ownerOf(key: string): WorkloadId | undefined {
  if (key.startsWith(prefixByName)) return adoptedWorkloadId(key.slice(prefixByName.length));
  return key.startsWith(prefix) ? WorkloadId.safeParse(key.slice(prefix.length)).data : undefined;
}

async function reasonOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof ThvError) return error.message;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
