import { RefusedRequest } from '../connection/connection.ts';
import type { ConnectionOwner } from '../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../connection/pool.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';

/** Whether a server supports legacy clients, and its description for them. */
export class LegacySupport {
  readonly #pool: ConnectionPool;
  readonly #client: ClientIdentity;
  readonly #settled: () => void;
  /** Undefined until the first legacy client of a modern server connects. */
  #identity: ServerIdentity | 'unsupported' | undefined;
  #isCertain = false;
  #probing: Promise<void> | undefined;

  /** `settled` is called after each probe. */
  constructor(pool: ConnectionPool, client: ClientIdentity, settled: () => void) {
    this.#pool = pool;
    this.#client = client;
    this.#settled = settled;
  }

  get isUnknown(): boolean {
    return this.#identity === undefined;
  }

  get isUnsupported(): boolean {
    return this.#identity === 'unsupported';
  }

  get identity(): ServerIdentity | undefined {
    return this.#identity === 'unsupported' ? undefined : this.#identity;
  }

  /** Follows a new server. `given` is the description that a modern server gave already, if any. */
  follow(
    { generation, identity }: { generation: ProtocolGeneration; identity: ServerIdentity },
    given: ServerIdentity | 'unsupported' | undefined,
  ): void {
    const known = this.#isCertain ? this.#identity : undefined;
    this.#identity = generation === 'legacy' ? identity : (given ?? known);
  }

  /** Detects whether a modern server also supports legacy clients. Only a legacy connection shows that support. */
  probe(): Promise<void> {
    const owner: ConnectionOwner = {
      notified() {},
      asked: (connection, request) => connection.decline(request),
      lost() {},
    };
    this.#probing ??= this.#pool
      .take(owner, this.#client, { isForNobody: true })
      .then(
        (own) => this.#settle(own, true),
        (error: unknown) => this.#settle(undefined, error instanceof RefusedRequest),
      )
      .finally(() => (this.#probing = undefined));
    return this.#probing;
  }

  /** Takes the connection that was opened to find out, if one could be. `isCertain`: the next server is the same in that. */
  #settle(own: OwnConnection | undefined, isCertain: boolean): void {
    this.#identity = own?.connection.identity ?? 'unsupported';
    this.#isCertain = isCertain;
    own?.giveBack();
    this.#settled();
  }
}
