import { PassingSet } from '@toolhive/contract/passing';

/** Something that waits, and must be kept alive in the meantime. */
export interface KeepAlive {
  keepAlive(): void;
}

/** The requests whose connections must be kept alive. */
export class PendingReplies extends PassingSet<KeepAlive> {
  #before: readonly KeepAlive[] = [];

  /**
   * Keeps those alive that were already pending at the last call. Otherwise, chance would decide whether a quick answer
   * is JSON or a stream.
   */
  keepAlive(): void {
    for (const reply of this.#before) if (this.has(reply)) reply.keepAlive();
    this.#before = [...this];
  }
}
