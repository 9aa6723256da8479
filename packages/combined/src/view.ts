import { raiseFault } from '@toolhive/contract/fault';
import { modernMeta } from '@toolhive/proxy/protocol';
import { ProxyClient } from '@toolhive/proxy/proxy-client';
import { isObject } from '@toolhive/proxy/message';
import { allKinds, changedBy, kinds } from './kinds.ts';
import type { Kind } from './kinds.ts';
import { MemberList } from './list.ts';
import type { Member } from './members.ts';

export interface MemberViewOptions {
  member: Member;
  /** The `Authorization` header of the callers of this view. */
  authorization: string | undefined;
  version: string;
  /** Called when a list has changed. */
  onChange: (view: MemberView, kind: Kind) => void;
  /** Called when a resource has changed that `follow` has named. */
  onUpdate: (view: MemberView, uri: string) => void;
}

/** How long a server may take to describe itself. */
const describeMs = 20_000;
/** How long to wait before the stream of changes is opened again. */
const reopenMs = 5_000;
/** How many conversations are kept open, and how long one that is not used. */
const maxConversations = 50;
const idleMs = 10 * 60_000;

let lastId = 0;

interface Conversation {
  client: ProxyClient;
  lastUsedMs: number;
  calls: number;
}

/**
 * Everything that one server offers callers with the same credentials, kept current. Requests pass through the proxy of
 * the server, so its filters, overrides, policies, and approvals apply.
 */
export class MemberView implements AsyncDisposable {
  /** Tells views apart, also those of the same server. */
  readonly id: number = ++lastId;
  readonly lists: Readonly<Record<Kind, MemberList>>;
  lastUsedMs: number = performance.now();
  readonly #options: MemberViewOptions;
  readonly #over = new AbortController();
  readonly #client: ProxyClient;
  readonly #conversations = new Map<string, Conversation>();
  #capabilities: Promise<Record<string, unknown>> | undefined;
  /** The lists whose changes the server reports. */
  #reported: ReadonlySet<Kind> = new Set();
  #updates: { uris: ReadonlySet<string>; stream: AbortController } | undefined;

  constructor(options: MemberViewOptions) {
    this.#options = options;
    this.#client = this.#openClient();
    const listOf = (kind: Kind): MemberList =>
      new MemberList({
        kind,
        signal: this.#over.signal,
        ask: (method, params, signal) =>
          this.#client.ask(method, { ...params, ...this.#described() }, { signal }),
        isOffered: async () => offers(await this.#describe(), kind),
        onChange: () => options.onChange(this, kind),
      });
    this.lists = {
      tools: listOf('tools'),
      prompts: listOf('prompts'),
      resources: listOf('resources'),
      templates: listOf('templates'),
      skills: listOf('skills'),
    };
    this.refresh(allKinds);
    this.#watch().catch(raiseFault);
  }

  get member(): Member {
    return this.#options.member;
  }

  /** Reads lists again. */
  refresh(changed: readonly Kind[]): void {
    if (this.#over.signal.aborted) return;
    for (const kind of changed) this.lists[kind].refresh().catch(raiseFault);
  }

  /** Reads the lists again whose changes the server does not report, and ends conversations that are not used. */
  poll(): void {
    this.refresh(allKinds.filter((kind) => !this.#reported.has(kind)));
    for (const [id, { lastUsedMs, calls }] of this.#conversations)
      if (calls === 0 && performance.now() - lastUsedMs > idleMs) this.#endConversation(id);
  }

  /** Uses the client of a conversation. The server keeps conversations apart. */
  async converse<Result>(
    id: string | undefined,
    use: (client: ProxyClient) => Promise<Result>,
  ): Promise<Result> {
    if (id === undefined) return use(this.#client);
    const conversation = this.#conversations.get(id) ?? this.#startConversation(id);
    conversation.calls++;
    try {
      return await use(conversation.client);
    } finally {
      conversation.calls--;
      conversation.lastUsedMs = performance.now();
    }
  }

  /** Asks the server for notifications of these resources, and of no others. */
  follow(uris: ReadonlySet<string>): void {
    const before = this.#updates;
    if ((before?.uris ?? nothing).symmetricDifference(uris).size === 0) return;
    const stream = new AbortController();
    this.#updates = uris.size === 0 ? undefined : { uris, stream };
    if (uris.size > 0) this.#followUpdates(uris, stream.signal).catch(raiseFault);
    before?.stream.abort(new Error('other resources are followed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the server left the group or was stopped'));
    this.#updates?.stream.abort(new Error('the server left the group or was stopped'));
    const clients = [this.#client, ...[...this.#conversations.values()].map(({ client }) => client)];
    this.#conversations.clear();
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  }

  #openClient(isConversation = false): ProxyClient {
    const { member, authorization } = this.#options;
    return new ProxyClient({
      proxy: member.proxy,
      authorization,
      isConversation,
      schemaOf: (name) => this.lists.tools.find(name)?.value['inputSchema'],
    });
  }

  #startConversation(id: string): Conversation {
    const conversation = { client: this.#openClient(true), lastUsedMs: performance.now(), calls: 0 };
    this.#conversations.set(id, conversation);
    const idle = [...this.#conversations].filter(([, { calls }]) => calls === 0);
    const [oldest] = idle.toSorted(([, one], [, other]) => one.lastUsedMs - other.lastUsedMs);
    if (this.#conversations.size > maxConversations && oldest !== undefined && oldest[0] !== id)
      this.#endConversation(oldest[0]);
    return conversation;
  }

  #endConversation(id: string): void {
    const client = this.#conversations.get(id)?.client;
    this.#conversations.delete(id);
    client?.[Symbol.asyncDispose]().catch(raiseFault);
  }

  /** Asks once. A failure is not remembered. */
  #describe(): Promise<Record<string, unknown>> {
    this.#capabilities ??= this.#askCapabilities().catch((error: unknown) => {
      this.#capabilities = undefined;
      throw error;
    });
    return this.#capabilities;
  }

  async #askCapabilities(): Promise<Record<string, unknown>> {
    const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(describeMs)]);
    const { value } = await this.#client.ask('server/discover', this.#described(), { signal });
    if (value.error !== undefined) throw new Error(value.error.message);
    const { capabilities } = isObject(value.result) ? value.result : {};
    const offered = isObject(capabilities) ? capabilities : {};
    this.#reported = new Set(allKinds.filter((kind) => isReported(offered, kind)));
    return offered;
  }

  /** Reads lists again whenever the server says that they have changed. */
  async #watch(): Promise<void> {
    const { signal } = this.#over;
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    while (!signal.aborted) {
      // Changes before the confirmation were not reported.
      await this.#listen(all, signal, ({ method }) => this.refresh(changedBy[method] ?? []));
      await pause(reopenMs, signal);
    }
  }

  async #followUpdates(uris: ReadonlySet<string>, over: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([over, this.#over.signal]);
    while (!signal.aborted) {
      await this.#listen({ resourceSubscriptions: [...uris] }, signal, ({ method, params }) => {
        const uri = params['uri'];
        if (method === 'notifications/resources/updated' && typeof uri === 'string' && uris.has(uri))
          this.#options.onUpdate(this, uri);
      });
      await pause(reopenMs, signal);
    }
  }

  /** Returns when the stream ends. */
  async #listen(
    notifications: object,
    signal: AbortSignal,
    notified: (notification: { method: string; params: Record<string, unknown> }) => void,
  ): Promise<void> {
    const params = { ...this.#described(), notifications };
    const notify = ({ value: { method = '', params: about = {} } }: Notification): void =>
      notified({ method, params: about });
    // If the stream fails, polling reads the lists in the meantime.
    await this.#client.ask('subscriptions/listen', params, { signal, notify }).catch(() => {});
  }

  #described(): { _meta: Record<string, unknown> } {
    const clientInfo = { name: 'toolhive-combined', version: this.#options.version };
    return { _meta: modernMeta({ protocolVersion: '', capabilities: {}, clientInfo }) };
  }
}

interface Notification {
  value: { method?: string; params?: Record<string, unknown> };
}

const nothing: ReadonlySet<string> = new Set();

function offers(capabilities: Record<string, unknown>, kind: Kind): boolean {
  const { capability } = kinds[kind];
  const { extensions } = capabilities;
  return (
    capabilities[capability] !== undefined || (isObject(extensions) && extensions[capability] !== undefined)
  );
}

function isReported(capabilities: Record<string, unknown>, kind: Kind): boolean {
  const described = capabilities[kinds[kind].capability];
  return !offers(capabilities, kind) || (isObject(described) && described['listChanged'] === true);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
