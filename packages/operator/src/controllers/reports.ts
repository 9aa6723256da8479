import { messageOf } from '@toolhive/contract/failure';
import type { ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus, isConflict } from '@toolhive/kubernetes/status';
import type { Logger } from 'pino';
import type { Correction } from '../runtime/applier.ts';
import { withoutNumbers } from '../runtime/events.ts';
import type { Recorder } from '../runtime/events.ts';
import { finding, resourceOf, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome } from './context.ts';

/** A failure that lasts so long is more than a fault in passing. */
const LASTING_MS = 5_000;

/** Runs passes, and reports failures that last in the status of the object. Every pass that fails is also repeated. */
export class Passes {
  readonly #context: Context;
  readonly #log: Logger;
  /** When the failures of objects began. */
  readonly #failing = new Map<string, number>();

  constructor(context: Context, log: Logger) {
    this.#context = context;
    this.#log = log;
  }

  async run({ type, reconcile }: Controller, key: string, signal: AbortSignal): Outcome {
    const place = `${type.kind} ${key}`;
    const startedAt = performance.now();
    try {
      const outcome = await reconcile(this.#context, key, signal);
      this.#failing.delete(place);
      return outcome;
    } catch (error) {
      if (!signal.aborted && !isConflict(error)) {
        const since = this.#failing.get(place) ?? startedAt;
        this.#failing.set(place, since);
        if (performance.now() - since >= LASTING_MS) await this.#report(type, key, error, signal);
      }
      throw error;
    }
  }

  async #report(type: ResourceType, key: string, error: unknown, signal: AbortSignal): Promise<void> {
    try {
      await reportFailure(this.#context, type, key, error, signal);
    } catch (failure) {
      if (!signal.aborted) this.#log.warn({ err: failure, kind: type.kind, key }, 'failure not reported');
    }
  }
}

async function reportFailure(
  context: Context,
  type: ResourceType,
  key: string,
  error: unknown,
  signal: AbortSignal,
): Promise<void> {
  const resource = context.cache(type).get<CustomResource>(key);
  if (resource === undefined) return;
  const { conditions = [], observedGeneration: _seen, ...status } = resource.status ?? {};
  const before = conditions.find((each) => each.type === 'Ready');
  const reason = reasonOf(error);
  const found = messageOf(error);
  // Times and addresses in a message are no reason to write the status again.
  const isKnown = before?.reason === reason && withoutNumbers(before.message) === withoutNumbers(found);
  const message = isKnown ? before.message : found;
  const fields = resourceOf(type.kind).status.shape;
  await writeStatus(
    { context, resource, signal },
    {
      ...status,
      ...('phase' in fields ? { phase: 'Failed' } : {}),
      ...('message' in fields ? { message } : {}),
    },
    [
      ...conditions
        .filter((each) => !['Ready', 'Reconciling', 'Stalled'].includes(each.type))
        .map((each) => ({
          type: each.type,
          status: each.status,
          reason: each.reason,
          message: each.message,
        })),
      finding('Ready', false, reason, message),
    ],
  );
}

/** The reason of the API server, or the fact that the pass failed. */
function reasonOf(error: unknown): string {
  return error instanceof ApiStatus && /^[A-Za-z]+$/.test(error.reason) ? error.reason : 'ReconcileFailed';
}

/** Tells the owner of a child that the child was changed by another program. */
export async function reportCorrection(
  { object, managers, fields }: Correction,
  { recorder, log }: { recorder: Recorder; log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const { kind, metadata } = object;
  const child = `${kind} ${metadata.name}`;
  const isReplaced = managers.length === 0;
  const note = isReplaced
    ? `replaced ${child}, because it cannot change in place`
    : `reverted a change of ${child} by ${managers.join(', ')}: ${fields}`;
  log.warn({ kind, name: metadata.name, namespace: metadata.namespace, managers, fields }, note);
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return;
  const { namespace } = metadata;
  const about = {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    metadata: { name: owner.name, uid: owner.uid, ...(namespace === undefined ? {} : { namespace }) },
  };
  const message = isReplaced
    ? ({ type: 'Normal', reason: 'Replaced', action: 'Replace', note } as const)
    : ({ type: 'Warning', reason: 'Reverted', action: 'Revert', note } as const);
  await recorder.record(about, message, signal);
}
