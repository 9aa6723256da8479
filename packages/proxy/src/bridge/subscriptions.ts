import { insertMembers, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { modernMeta } from '../connection/handshake.ts';
import type { ServerConnection } from '../connection/connection.ts';
import { meta } from '../protocol/protocol.ts';
import type { ClientIdentity, ServerIdentity } from '../protocol/protocol.ts';

/** What a listener wants to hear of (MCP 2026-07-28, Subscriptions, Notification Filter). */
export interface Filter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  resourceSubscriptions?: string[];
}

/** Somebody who hears of what changes at the server. */
export interface Listener {
  /** The resources that it wants to hear of. */
  readonly uris: ReadonlySet<string>;
  /** A change of one of these, or of a list. */
  changed(message: Message): void;
}

const listChanges: Readonly<Record<string, keyof Filter>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

/**
 * What changes at a server that many share, told to everybody whom it concerns. The server has one subscriber, who
 * wants what any of them want.
 */
export class Changes {
  readonly #listeners = new Set<Listener>();
  readonly #client: ClientIdentity;
  readonly #onFault: (error: unknown) => void;
  #connection: ServerConnection | undefined;
  /** The resources that the server was asked to tell of. */
  #asked = new Set<string>();
  #listening: AbortController | undefined;

  constructor(client: ClientIdentity, onFault: (error: unknown) => void) {
    this.#client = client;
    this.#onFault = onFault;
  }

  /** Takes up a new conversation with the server, which knows of nothing yet. */
  follow(connection: ServerConnection): void {
    this.#connection = connection;
    this.#asked = new Set();
    this.#listening = undefined;
    this.update();
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    this.update();
  }

  delete(listener: Listener): void {
    if (this.#listeners.delete(listener)) this.update();
  }

  isWanted(uri: string): boolean {
    return this.#listeners.values().some(({ uris }) => uris.has(uri));
  }

  /** The server was asked by a client's own request to tell of this, or not to. */
  wasAsked(uri: string, isWanted: boolean): void {
    if (isWanted) this.#asked.add(uri);
    else this.#asked.delete(uri);
  }

  /** Has the server told what the listeners want now, and nothing else. */
  update(): void {
    const connection = this.#connection;
    if (connection?.isOpen !== true) return;
    const wanted = new Set(this.#listeners.values().flatMap(({ uris }) => uris));
    const isNew = wanted.symmetricDifference(this.#asked).size > 0;
    if (connection.generation === 'modern') {
      if (this.#listeners.size === 0) this.#stopListening();
      else if (isNew || this.#listening === undefined) this.#listen(connection, wanted);
    } else if (isNew) this.#subscribe(connection, wanted);
    this.#asked = wanted;
  }

  /** Tells those whom it concerns; false when it is no change of anything. */
  deliver(message: Message): boolean {
    const { method = '', params } = message.value;
    const uri = params?.['uri'];
    if (method === 'notifications/resources/updated') {
      for (const listener of this.#listeners) {
        if (typeof uri === 'string' && listener.uris.has(uri)) listener.changed(message);
      }
      return true;
    }
    if (listChanges[method] === undefined) return false;
    for (const listener of this.#listeners) listener.changed(message);
    return true;
  }

  #subscribe(connection: ServerConnection, wanted: ReadonlySet<string>): void {
    if (!offers(connection.identity, 'resources', 'subscribe')) return;
    const ask = (method: string, uris: Iterable<string>): void => {
      for (const uri of uris) connection.request(method, { uri }).catch(() => {}); // it may be gone, which is no fault here
    };
    ask('resources/subscribe', wanted.difference(this.#asked));
    ask('resources/unsubscribe', this.#asked.difference(wanted));
  }

  #stopListening(): void {
    const before = this.#listening;
    this.#listening = undefined;
    before?.abort(new Error('nobody listens any more'));
  }

  /** The new stream is there before the old one ends, so that nothing is missed. */
  #listen(connection: ServerConnection, uris: ReadonlySet<string>): void {
    const before = this.#listening;
    const over = new AbortController();
    this.#listening = over;
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const notifications = granted({ ...all, resourceSubscriptions: [...uris] }, connection.identity);
    if (Object.keys(notifications).length === 0) return;
    const params = { _meta: modernMeta(this.#client), notifications };
    connection
      .request('subscriptions/listen', params, over.signal)
      .catch((error: unknown) => {
        if (!over.signal.aborted && connection.isOpen) this.#onFault(error);
      })
      .finally(() => this.#listenAgain(over));
    before?.abort(new Error('another stream took its place'));
  }

  /** The server has ended a stream that somebody still listens to; it may have reasons, so not at once. */
  #listenAgain(ended: AbortController): void {
    const again = (): void => {
      if (this.#listening !== ended) return;
      this.#listening = undefined;
      this.update();
    };
    if (this.#listening === ended) setTimeout(again, listenAgainMs).unref();
  }
}

/** How long it is waited before a server is listened to again that has ended the stream. */
const listenAgainMs = 1_000;

/** What of a filter a server can honour. */
export function granted(filter: Filter, identity: ServerIdentity): Filter {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions = [] } = filter;
  const isHonoured = resourceSubscriptions.length > 0 && offers(identity, 'resources', 'subscribe');
  return {
    ...(toolsListChanged === true && offers(identity, 'tools', 'listChanged') ? { toolsListChanged } : {}),
    ...(promptsListChanged === true && offers(identity, 'prompts', 'listChanged')
      ? { promptsListChanged }
      : {}),
    ...(resourcesListChanged === true && offers(identity, 'resources', 'listChanged')
      ? { resourcesListChanged }
      : {}),
    ...(isHonoured ? { resourceSubscriptions } : {}),
  };
}

function offers({ capabilities }: ServerIdentity, feature: string, detail: string): boolean {
  const described = capabilities[feature];
  return isObject(described) && described[detail] === true;
}

/** A stream of `subscriptions/listen`: what a modern client has asked to be told, under its subscription. */
export class Subscription implements Listener {
  readonly uris: ReadonlySet<string>;
  readonly #filter: Filter;
  readonly #id: string | number;
  readonly #send: (text: string) => void;

  /** `id` is that of the request. Acknowledges it at once. */
  constructor(id: string | number, filter: Filter, send: (text: string) => void) {
    this.#id = id;
    this.#filter = filter;
    this.#send = send;
    this.uris = new Set(filter.resourceSubscriptions);
    const params = { _meta: this.described, notifications: filter };
    send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }));
  }

  /** What every message of it has in its `_meta`. */
  get described(): Record<string, unknown> {
    return { [meta.subscriptionId]: this.#id };
  }

  changed({ text, value }: Message): void {
    const kind = listChanges[value.method ?? ''];
    if (kind !== undefined && this.#filter[kind] !== true) return;
    const isTagged = value.params?._meta?.[meta.subscriptionId] !== undefined;
    this.#send(isTagged ? this.#retagged(value) : insertMembers(text, ['params', '_meta'], this.described));
  }

  #retagged({ method, params }: Message['value']): string {
    const _meta = { ...params?._meta, ...this.described };
    return JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta } });
  }
}

/** Reads the filter of a `subscriptions/listen`; undefined when it is none. */
export function filterFrom(params: unknown): Filter | undefined {
  const notifications = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(notifications)) return undefined;
  const { resourceSubscriptions: uris = [], ...flags } = notifications;
  if (!Array.isArray(uris) || uris.length > maxUris || !uris.every((uri) => typeof uri === 'string'))
    return undefined;
  const kinds = Object.values(listChanges).filter((kind) => flags[kind] === true);
  return { ...Object.fromEntries(kinds.map((kind) => [kind, true])), resourceSubscriptions: uris };
}

/** How many resources one client may be told of. */
export const maxUris = 1000;
