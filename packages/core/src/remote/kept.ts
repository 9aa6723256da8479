import { ThvError } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Vault } from '../secrets/encrypted.ts';

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
});
export type Client = z.infer<typeof Client>;

const Tokens = z.object({
  access: z.string(),
  refresh: z.string().optional(),
  issuedAtMs: z.number(),
  expiresAtMs: z.number().optional(),
});
export type Tokens = z.infer<typeof Tokens>;

/** What came of signing in. */
const Grant = z.object({
  /** What the tokens are for (RFC 8707). */
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

/** Where the tokens of one workload outlive the daemon. */
export class TokenStore {
  readonly #name: string;
  readonly #vault: () => Vault | undefined;

  /** Looks up the secret store each time, because secrets can be set up while a workload runs. */
  constructor(workload: string, vault: () => Vault | undefined) {
    this.#name = `remote-auth/${workload}`;
    this.#vault = vault;
  }

  /** Undefined if nothing valid is stored. Throws while the store is inaccessible. */
  async load(): Promise<Kept | undefined> {
    const text = await this.#vault()?.get(this.#name);
    const kept = Kept.safeParse(text === undefined ? undefined : parseJson(text));
    return kept.success ? kept.data : undefined;
  }

  /**
   * Returns why the tokens could not be stored, if so. This is not a failure, because the tokens in memory still
   * work.
   */
  async save(kept: Kept): Promise<string | undefined> {
    const vault = this.#vault();
    if (vault === undefined) return 'no encrypted secrets are set up';
    return reasonOf(vault.set(this.#name, JSON.stringify(kept)));
  }

  /** For a workload that is removed. */
  async remove(): Promise<void> {
    await this.#vault()?.delete(this.#name);
  }
}

async function reasonOf(work: Promise<void>): Promise<string | undefined> {
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
