import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { ServerConnection } from '../connection/connection.ts';
import { insertMembers, isObject, ownMessage, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { declaresTasks, withTasks } from './tasks/forms.ts';
import { maxFollowed } from './tasks/watch-task.ts';
import { meta, modernMeta } from '../protocol/protocol.ts';
import type { ClientIdentity, ServerIdentity } from '../protocol/protocol.ts';
import type { Sharing } from './sharing.ts';

/** What a listener wants to be notified of (MCP 2026-07-28, Subscriptions, Notification Filter). */
export interface Filter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  resourceSubscriptions?: string[];
  /** The tasks whose changes are wanted (SEP-2663, Task Status Notifications). */
  taskIds?: string[];
}

/** A client that is notified of changes at the server. */
export interface Listener {
  /** The resources that this listener subscribed to. */
  readonly uris: ReadonlySet<string>;
  /** The tasks of a modern server that this listener follows. */
  readonly taskIds: ReadonlySet<string>;
  /** The principal of a modern client, whose calls can have connections of their own. */
  readonly principal?: string;
  /** Takes a notification that one of these, or a list, has changed. */
  changed(notification: Message): void;
}

const listChanges: Readonly<Record<string, keyof Filter>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

export function isListChange({ value: { method = '' } }: Message): boolean {
  return Object.hasOwn(listChanges, method);
}

/**
 * Notifies clients about changes on a shared server. The server has a single subscriber, which subscribes to
 * everything that any client wants.
 */
export class Subscriptions {
  readonly #listeners = new Set<Listener>();
  readonly #client: ClientIdentity;
  readonly #sharing: Sharing;
  /** Receives problems with the server's answers. */
  readonly #report: (text: string) => void;
  #connection: ServerConnection | undefined;
  /** The resources that the server was asked to send notifications of. */
  #requested = new Set<string>();
  #requestedTasks: ReadonlySet<string> = new Set();
  /** The connections for the calls of modern clients, with the requested resources. */
  readonly #ofCalls = new Map<ServerConnection, { principal: string; requested: ReadonlySet<string> }>();
  #stream: AbortController | undefined;
  /** The server has confirmed the current stream. */
  #isAcknowledged = false;

  constructor(client: ClientIdentity, sharing: Sharing, report: (text: string) => void) {
    this.#client = client;
    this.#sharing = sharing;
    this.#report = report;
  }

  /** Subscribes again over a new connection. */
  follow(connection: ServerConnection): void {
    this.#connection = connection;
    this.#requested = new Set();
    this.#requestedTasks = new Set();
    this.#stream = undefined;
    this.update();
  }

  /**
   * Subscribes on a connection to a legacy server that only the calls of one principal use: another process does not
   * report their changes.
   */
  followCalls(connection: ServerConnection, principal: string): void {
    if (!this.#ofCalls.has(connection)) this.#ofCalls.set(connection, { principal, requested: new Set() });
    this.#updateCalls();
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    this.update();
    this.#updateCalls();
  }

  delete(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    this.update();
    this.#updateCalls();
  }

  /** Whether any client listens to changes. */
  get areWanted(): boolean {
    return this.#listeners.size > 0;
  }

  isWanted(uri: string): boolean {
    return this.#listeners.values().some(({ uris }) => uris.has(uri));
  }

  /** A client subscribed to this resource, or unsubscribed from it, with a request. */
  wasRequested(uri: string, isWanted: boolean): void {
    if (isWanted) this.#requested.add(uri);
    else this.#requested.delete(uri);
  }

  /** Updates the subscriptions on the server to match the listeners' wishes. */
  update(): void {
    const connection = this.#connection;
    if (connection?.isOpen !== true) return;
    const wanted = new Set(this.#listeners.values().flatMap(({ uris }) => uris));
    const isDifferent = wanted.symmetricDifference(this.#requested).size > 0;
    if (connection.generation === 'modern') {
      const tasks = new Set(this.#listeners.values().flatMap(({ taskIds }) => taskIds));
      // Only the server knows when a task is over, and then says nothing more.
      const isNew = isDifferent || !tasks.isSubsetOf(this.#requestedTasks);
      if (this.#listeners.size === 0) this.#endStream();
      else if (isNew || this.#stream === undefined) this.#openStream(connection, wanted, tasks);
    } else if (isDifferent) subscribe(connection, { wanted, requested: this.#requested });
    this.#requested = wanted;
  }

  #updateCalls(): void {
    for (const [connection, { principal, requested }] of this.#ofCalls) {
      if (!connection.isOpen) {
        this.#ofCalls.delete(connection);
        continue;
      }
      const own = this.#listeners.values().filter((listener) => listener.principal === principal);
      const wanted = new Set(own.flatMap(({ uris }) => uris));
      this.#ofCalls.set(connection, { principal, requested: wanted });
      subscribe(connection, { wanted, requested });
    }
  }

  /**
   * Forwards a change notification to the listeners that want it: of a resource, only to those of `principal` if the
   * notification comes from the connection of a call. Returns false for any other notification.
   */
  deliver(notification: Message, principal?: string): boolean {
    const { method = '', params } = notification.value;
    const uri = params?.['uri'];
    if (method === 'notifications/subscriptions/acknowledged') {
      this.#isAcknowledged = true;
      return true;
    }
    if (method === 'notifications/resources/updated') {
      for (const listener of this.#listeners) {
        const isMeant = principal === undefined || listener.principal === principal;
        if (isMeant && typeof uri === 'string' && listener.uris.has(uri)) listener.changed(notification);
      }
      return true;
    }
    if (method === 'notifications/tasks') {
      const id = params?.['taskId'];
      for (const listener of this.#listeners)
        if (typeof id === 'string' && listener.taskIds.has(id)) listener.changed(notification);
      return true;
    }
    if (!isListChange(notification)) return false;
    this.#sharing.learn('changed');
    for (const listener of this.#listeners) listener.changed(notification);
    return true;
  }

  #endStream(): void {
    const before = this.#stream;
    this.#stream = undefined;
    before?.abort(new Error('no client listens any more'));
  }

  /** Opens the new stream before the old one ends, so that nothing is missed. */
  #openStream(connection: ServerConnection, uris: ReadonlySet<string>, tasks: ReadonlySet<string>): void {
    const before = this.#stream;
    const over = new AbortController();
    this.#stream = over;
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    this.#requestedTasks = tasks;
    const wanted = { ...all, resourceSubscriptions: [...uris], taskIds: [...tasks] };
    const notifications = granted(wanted, connection.identity);
    if (Object.keys(notifications).length === 0) return;
    const client = tasks.size === 0 ? this.#client : withTasks(this.#client);
    const params = { _meta: modernMeta(client), notifications };
    this.#isAcknowledged = false;
    connection
      .request('subscriptions/listen', params, over.signal)
      .then(
        () => '',
        (error: unknown) => `: ${messageOf(error)}`,
      )
      .then((why) => this.#ended(over, connection, why))
      .catch(raiseFault);
    before?.abort(new Error('another stream replaced this stream'));
  }

  /** Reopens a stream that the server closed. Waits first, because the server may have closed it intentionally. */
  #ended(over: AbortController, connection: ServerConnection, why: string): void {
    if (this.#stream !== over || over.signal.aborted || !connection.isOpen) return;
    if (!this.#isAcknowledged)
      this.#report(
        `the server ended subscriptions/listen without confirming it${why}; clients do not receive change notifications`,
      );
    const reopen = (): void => {
      if (this.#stream !== over) return;
      this.#stream = undefined;
      this.update();
    };
    setTimeout(reopen, this.#isAcknowledged ? reopenMs : refusedMs).unref();
  }
}

/** Subscribes on a legacy connection to the additional resources, and unsubscribes from the rest. */
function subscribe(
  connection: ServerConnection,
  { wanted, requested }: { wanted: ReadonlySet<string>; requested: ReadonlySet<string> },
): void {
  if (!offers(connection.identity, 'resources', 'subscribe')) return;
  const request = (method: string, uris: Iterable<string>): void => {
    for (const uri of uris) connection.request(method, { uri }).catch(() => {}); // the resource may be gone
  };
  request('resources/subscribe', wanted.difference(requested));
  request('resources/unsubscribe', requested.difference(wanted));
}

/** How long to wait before a stream is opened again that the server has ended. */
const reopenMs = 1_000;
/** The same for a server with an incorrect implementation. */
const refusedMs = 10 * 60_000;

/** Returns the part of a filter that a server supports. */
export function granted(filter: Filter, identity: ServerIdentity): Filter {
  const { toolsListChanged, promptsListChanged, resourcesListChanged } = filter;
  const { resourceSubscriptions = [], taskIds = [] } = filter;
  const isSupported = resourceSubscriptions.length > 0 && offers(identity, 'resources', 'subscribe');
  return {
    ...(toolsListChanged === true && offers(identity, 'tools', 'listChanged') ? { toolsListChanged } : {}),
    ...(promptsListChanged === true && offers(identity, 'prompts', 'listChanged')
      ? { promptsListChanged }
      : {}),
    ...(resourcesListChanged === true && offers(identity, 'resources', 'listChanged')
      ? { resourcesListChanged }
      : {}),
    ...(isSupported ? { resourceSubscriptions } : {}),
    ...(taskIds.length > 0 && declaresTasks(identity) ? { taskIds } : {}),
  };
}

function offers({ capabilities }: ServerIdentity, feature: string, detail: string): boolean {
  const described = capabilities[feature];
  return isObject(described) && described[detail] === true;
}

/** A stream of `subscriptions/listen`: notifies a modern client under its subscription. */
export class Subscription implements Listener {
  readonly uris: ReadonlySet<string>;
  readonly taskIds: ReadonlySet<string>;
  readonly principal: string;
  readonly #filter: Filter;
  readonly #id: string | number;
  readonly #notify: (notification: Message) => void;

  /** `id` is that of the request, which is acknowledged at once. */
  constructor(
    { id, principal }: { id: string | number; principal: string },
    filter: Filter,
    notify: (notification: Message) => void,
  ) {
    this.#id = id;
    this.principal = principal;
    this.#filter = filter;
    this.#notify = notify;
    this.uris = new Set(filter.resourceSubscriptions);
    this.taskIds = new Set(filter.taskIds);
    const params = { _meta: this.#tag, notifications: filter };
    notify(ownMessage({ method: 'notifications/subscriptions/acknowledged', params }));
  }

  /** What the `_meta` of every notification contains. */
  get #tag(): Record<string, unknown> {
    return { [meta.subscriptionId]: this.#id };
  }

  changed({ text, value }: Message): void {
    const kind = listChanges[value.method ?? ''];
    if (kind !== undefined && this.#filter[kind] !== true) return;
    const { method = '', params } = value;
    const isTagged = params?._meta?.[meta.subscriptionId] !== undefined;
    this.#notify(
      isTagged
        ? ownMessage({ method, params: { ...params, _meta: { ...params?._meta, ...this.#tag } } })
        : readMessage(insertMembers(text, ['params', '_meta'], this.#tag)),
    );
  }
}

/** Reads the filter of `subscriptions/listen`. Returns undefined if the filter is invalid. */
export function filterFrom(params: unknown): Filter | undefined {
  const notifications = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(notifications)) return undefined;
  const { resourceSubscriptions: uris = [], taskIds = [], ...flags } = notifications;
  if (!areTexts(uris, maxUris) || !areTexts(taskIds, maxFollowed)) return undefined;
  const kinds = Object.values(listChanges).filter((kind) => flags[kind] === true);
  return { ...Object.fromEntries(kinds.map((kind) => [kind, true])), resourceSubscriptions: uris, taskIds };
}

function areTexts(values: unknown, most: number): values is string[] {
  return Array.isArray(values) && values.length <= most && values.every((value) => typeof value === 'string');
}

/** How many resources one client may subscribe to. */
export const maxUris = 1000;
