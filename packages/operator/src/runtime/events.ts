import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
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
/** Equal events within this time become one series. */
const SERIES_MS = 6 * 60_000;
const MAX_REMEMBERED = 5_000;

/** Writes events. Equal events within six minutes count up one event instead of adding another. */
export class Recorder {
  readonly #client: KubernetesClient;
  readonly #instance: string;
  readonly #onError: (error: unknown) => void;
  readonly #recent = new Map<string, { name: string; count: number; at: number }>();

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
    const key = hashOf([uid, message]);
    const known = this.#recent.get(key);
    const now = new Date().toISOString().replace('Z', '000Z'); // microseconds
    if (known !== undefined && performance.now() - known.at < SERIES_MS) {
      known.count += 1;
      known.at = performance.now();
      const series = { count: known.count, lastObservedTime: now };
      await this.#client.patch(types.event, { name: known.name, namespace }, { series }, signal);
      return;
    }
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
    this.#recent.set(key, { name: event.metadata.name, count: 1, at: performance.now() });
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > MAX_REMEMBERED && oldest !== undefined) this.#recent.delete(oldest);
    await this.#client.create(types.event, event, signal);
  }
}
