import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';

export interface LeaseOptions {
  client: KubernetesClient;
  name: string;
  namespace: string;
  /** The name of this replica. Unique among all replicas. */
  identity: string;
  onError: (error: unknown) => void;
}

interface Lease extends KubernetesObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** Other replicas take over after this time without a renewal. */
const LEASE_MS = 15_000;
/** A leader that could not renew for this long gives up, before others take over. */
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** An attempt to renew ends in time for another one over a new connection. */
const ATTEMPT_MS = 4_000;
/** A leader stops writing so long before others take over. */
const MARGIN_MS = 2_000;

/** Leadership among the replicas, held by renewing a Lease. */
export class Leadership {
  readonly #options: LeaseOptions;
  readonly #lost = new AbortController();
  readonly #released = new AbortController();
  #renewing: Promise<void> = Promise.resolve();
  /** When the last successful renewal began. */
  #renewedAt: number;

  private constructor(options: LeaseOptions, acquiredAt: number) {
    this.#options = options;
    this.#renewedAt = acquiredAt;
  }

  /** Waits until this replica is the leader. Rejects when the signal aborts. */
  static async acquire(options: LeaseOptions, signal: AbortSignal): Promise<Leadership> {
    // Clocks of replicas differ, so the lease counts as expired when it has not changed for its duration here.
    let seen = { version: '', at: performance.now() };
    for (;;) {
      signal.throwIfAborted();
      try {
        const startedAt = performance.now();
        const lease = await readLease(options, signal);
        const version = lease?.metadata.resourceVersion ?? '';
        if (version !== seen.version) seen = { version, at: performance.now() };
        const isFree = !lease?.spec?.holderIdentity || performance.now() - seen.at > leaseMsOf(lease);
        if (isFree || lease?.spec?.holderIdentity === options.identity) {
          await writeLease(options, lease, signal);
          const leadership = new Leadership(options, startedAt);
          leadership.#renewing = leadership.#renew();
          return leadership;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!isConflict(error)) options.onError(error);
      }
      await delay(RETRY_MS * (0.8 + Math.random() * 0.4), undefined, { signal });
    }
  }

  /** Aborts when the lease could not be renewed in time. The process has to end, because another replica may lead. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether no other replica can lead yet. A process that was paused learns from here first that its time is over. */
  get isCertain(): boolean {
    return !this.#lost.signal.aborted && performance.now() - this.#renewedAt < LEASE_MS - MARGIN_MS;
  }

  /** Ends the leadership, so that another replica can take over at once. */
  async release(): Promise<void> {
    this.#released.abort();
    await this.#renewing;
    if (this.#lost.signal.aborted) return;
    const signal = AbortSignal.timeout(RETRY_MS);
    try {
      const lease = await readLease(this.#options, signal);
      if (lease?.spec?.holderIdentity !== this.#options.identity) return;
      await this.#options.client.replace(
        types.lease,
        { ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 } },
        signal,
      );
    } catch (error) {
      this.#options.onError(error); // the lease expires
    }
  }

  async #renew(): Promise<void> {
    const ended = this.#released.signal;
    while (!ended.aborted) {
      await delay(RETRY_MS, undefined, { signal: ended }).catch(() => {}); // the loop sees the abort
      if (ended.aborted) return;
      const left = RENEW_DEADLINE_MS - (performance.now() - this.#renewedAt);
      if (left <= 0) return this.#lost.abort(new Error('the lease could not be renewed'));
      try {
        const startedAt = performance.now();
        const signal = AbortSignal.any([ended, AbortSignal.timeout(Math.ceil(Math.min(left, ATTEMPT_MS)))]);
        const lease = await readLease(this.#options, signal);
        if (lease?.spec?.holderIdentity !== this.#options.identity) {
          return this.#lost.abort(new Error('another replica has the lease'));
        }
        await writeLease(this.#options, lease, signal);
        this.#renewedAt = startedAt;
      } catch (error) {
        if (!ended.aborted) this.#options.onError(error);
      }
    }
  }
}

function leaseMsOf(lease: Lease): number {
  return (lease.spec?.leaseDurationSeconds ?? LEASE_MS / 1_000) * 1_000;
}

async function readLease(
  { client, name, namespace }: LeaseOptions,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  try {
    return await client.get<Lease>(types.lease, { name, namespace }, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function writeLease(
  { client, name, namespace, identity }: LeaseOptions,
  lease: Lease | undefined,
  signal: AbortSignal,
): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z'); // microseconds
  const isRenewal = lease?.spec?.holderIdentity === identity;
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: LEASE_MS / 1_000,
    acquireTime: isRenewal ? (lease.spec?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (lease?.spec?.leaseTransitions ?? 0) + (isRenewal || lease === undefined ? 0 : 1),
  };
  const metadata = lease?.metadata ?? { name, namespace };
  const wanted: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  if (lease === undefined) await client.create(types.lease, wanted, signal);
  else await client.replace(types.lease, wanted, signal);
}
