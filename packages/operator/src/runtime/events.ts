import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound } from '@toolhive/kubernetes/status';
import { hashOf } from './canonical.ts';

/** A message about an object for `kubectl describe`. */
export interface Message {
  type: 'Normal' | 'Warning';
  reason: string;
  action: string;
  note: string;
}

/** The API server refuses longer notes. */
const MAX_NOTE_CHARACTERS = 1_000;
/** An event is repeated after this time at the earliest, and then after twice the time, and so on. */
const FIRST_DISTANCE_MS = 10_000;
/** The API server forgets events after an hour by default. */
const LAST_DISTANCE_MS = 30 * 60_000;
/** So many different events about one object are written at once, and then one more in each of these times. */
const BURST = 25;
const REFILL_MS = 60_000;
const MAX_REMEMBERED = 5_000;

/** A message without the parts that differ in each repetition, such as times, ports, and identifiers. */
export function withoutNumbers(message: string): string {
  return message.replaceAll(/[\da-f]*\d[\da-f]*/gi, '0');
}

interface Series {
  name: string;
  count: number;
  distanceMs: number;
  nextAt: number;
}

/** Writes events. Equal events count up one event after growing distances, so that a lasting problem stays visible. */
export class Recorder {
  readonly #client: KubernetesClient;
  readonly #instance: string;
  readonly #onError: (error: unknown) => void;
  readonly #series = new Map<string, Series>();
  readonly #budgets = new Map<string, { left: number; at: number }>();

  constructor(client: KubernetesClient, instance: string, onError: (error: unknown) => void) {
    this.#client = client;
    this.#instance = instance;
    this.#onError = onError;
  }

  /** Writes an event. Failures are only logged, because an event never decides anything. */
  async record(about: KubernetesObject, message: Message, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(about, message, signal);
    } catch (error) {
      if (!signal.aborted) this.#onError(error);
    }
  }

  async #write(about: KubernetesObject, message: Message, signal: AbortSignal): Promise<void> {
    const { uid, name, namespace = 'default' } = about.metadata;
    const key = hashOf([uid, message.type, message.reason, withoutNumbers(message.note)]);
    const known = this.#series.get(key);
    const now = new Date().toISOString().replace('Z', '000Z'); // microseconds
    if (known !== undefined) {
      known.count += 1;
      if (performance.now() < known.nextAt) return;
      known.distanceMs = Math.min(known.distanceMs * 2, LAST_DISTANCE_MS);
      known.nextAt = performance.now() + known.distanceMs;
      const series = { count: known.count, lastObservedTime: now };
      try {
        await this.#client.patch(types.event, { name: known.name, namespace }, { series }, signal);
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error; // the API server has forgotten the event
      }
    }
    if (!this.#mayWrite(uid ?? name)) return;
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `${name.slice(0, 200)}.${key}.${Date.now().toString(36)}`, namespace },
      eventTime: now,
      reportingController: 'toolhive.stacklok.dev/operator',
      reportingInstance: this.#instance.slice(0, 128),
      type: message.type,
      reason: message.reason,
      action: message.action,
      note: message.note.slice(0, MAX_NOTE_CHARACTERS),
      regarding: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid },
    };
    const distanceMs = known?.distanceMs ?? FIRST_DISTANCE_MS;
    const nextAt = performance.now() + distanceMs;
    remember(this.#series, key, { name: event.metadata.name, count: 1, distanceMs, nextAt });
    await this.#client.create(types.event, event, signal);
  }

  /** Takes one event from the budget of an object. */
  #mayWrite(uid: string): boolean {
    const now = performance.now();
    const { left, at } = this.#budgets.get(uid) ?? { left: BURST, at: now };
    const available = Math.min(BURST, left + (now - at) / REFILL_MS);
    if (available < 1) return false;
    remember(this.#budgets, uid, { left: available - 1, at: now });
    return true;
  }
}

/** Adds an entry, and forgets the oldest one if there are too many. */
function remember<T>(entries: Map<string, T>, key: string, value: T): void {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.keys();
  if (entries.size > MAX_REMEMBERED && oldest !== undefined) entries.delete(oldest);
}
