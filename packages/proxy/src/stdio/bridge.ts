import type { Instance } from '@toolhive/runtime/runtime';
import { errorCodes, errorText, onOneLine, readMessage, restate, written } from '../jsonrpc/message.ts';
import type { Message, MessageValue } from '../jsonrpc/message.ts';
import { readLines } from './lines.ts';
import { ServerInput } from './server-input.ts';
import { Session } from './session.ts';
import type { ReplyTo } from './session.ts';

/** The newest revision that the bridge offers a server; what the server answers decides. */
export const newestRevision = '2025-11-25';

const knownRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', newestRevision];

/** How long a session may be silent before it is forgotten. */
const sessionIdleMs = 2 * 60 * 60 * 1000;
/** How many sessions a workload has at most; the one silent for longest makes room. */
const maxSessions = 1000;
/** How long a request waits for a server that is starting or restarting. */
const waitForServerMs = 30_000;
/** How much a server may leave unread on its standard input before requests are refused. */
const maxUnreadBytes = 32 * 1024 * 1024;

export interface BridgeOptions {
  /** Named in `clientInfo` to the server. */
  version: string;
  /** Told what the server printed that is no protocol. */
  onJunk: (line: string) => void;
  /** Told of bugs in the bridge. */
  onFault: (error: unknown) => void;
  now?: () => number;
}

/** What a server said of itself in its answer to `initialize`. */
export interface ServerIdentity {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string };
  [key: string]: unknown;
}

/**
 * One stdio server shared by any number of sessions. The bridge is the server's only client: it initializes it
 * once, gives every request an id of its own, and takes answers, progress and notifications to the session that
 * they belong to. It stays when the server goes: sessions carry on with the next instance.
 */
export class StdioBridge implements AsyncDisposable {
  readonly #options: BridgeOptions;
  readonly #now: () => number;
  readonly #sessions = new Map<string, Session>();
  readonly #pending = new Map<number, Pending>();
  readonly #upkeep: NodeJS.Timeout;
  #lastId = 0;
  #state: BridgeState = { kind: 'down', reason: 'the server has not started yet', final: false };
  #waiting: (() => void)[] = [];

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#upkeep = setInterval(() => this.#tidy(), 30_000).unref();
  }

  /** What the running server said of itself; undefined while none is ready. */
  get identity(): ServerIdentity | undefined {
    return this.#state.kind === 'up' ? this.#state.identity : undefined;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /**
   * Takes over a freshly started instance: initializes it, subscribes again to what sessions subscribed to, and
   * lets waiting requests through. Throws if the server refuses to be initialized.
   */
  async connect(instance: Instance, signal: AbortSignal): Promise<void> {
    const { stdio } = instance;
    if (stdio === undefined) throw new Error('a bridge needs an instance that speaks stdio');
    const link = new ServerInput(stdio.input);
    this.#state = { kind: 'starting', link };
    readLines(stdio.output, {
      onLine: (line) => this.#receive(link, line),
      onTooLong: () => this.#options.onJunk('(a line that is too long was dropped)'),
    });
    const identity = await this.#initialize(link, signal);
    this.#state = { kind: 'up', link, identity };
    for (const uri of new Set(
      [...this.#sessions.values()].flatMap((session) => [...session.subscriptions]),
    )) {
      this.#ask(link, 'resources/subscribe', { uri }, { answer: () => {}, notify: () => {} });
    }
    this.#wake();
  }

  /** Fails what is pending, because the server is gone. With `final` nobody is going to start another one soon. */
  disconnect(reason: string, final: boolean): void {
    this.#state = { kind: 'down', reason, final };
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reply, originalId } of lost) {
      reply.answer(
        errorText(originalId, errorCodes.serverError, `the server ended before it answered: ${reason}`),
      );
    }
    if (final) this.#wake();
  }

  openSession(): Session {
    if (this.#sessions.size >= maxSessions) this.#forgetOldest();
    const session = new Session(this.#now());
    this.#sessions.set(session.id, session);
    return session;
  }

  findSession(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.lastSeenMs = this.#now();
    return session;
  }

  closeSession(session: Session): void {
    session.close();
    this.#sessions.delete(session.id);
    for (const [id, pending] of this.#pending) {
      if (pending.session === session) this.#cancel(id, 'the session was closed');
    }
    for (const uri of session.subscriptions) this.#unsubscribe(session, uri);
  }

  /** Takes one message from a client. `reply` is used exactly once for a request, and never for anything else. */
  accept(session: Session, message: Message, reply: ReplyTo): void {
    if (this.#state.kind === 'up') {
      this.#route(session, message, reply, this.#state);
      return;
    }
    if (message.kind !== 'request') return; // nothing to tell a server that knows of nothing
    this.#whenReady((state) => {
      if (state.kind === 'up') this.#route(session, message, reply, state);
      else reply.answer(errorText(idText(message), errorCodes.serverError, notThere(state)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#upkeep);
    this.disconnect('the workload was stopped', true);
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  #route(session: Session, message: Message, reply: ReplyTo, { link, identity }: UpState): void {
    const { value } = message;
    if (message.kind === 'response') return; // no server request is ever passed to a client, so none is answered
    if (message.kind === 'notification') return this.#routeNotification(session, message, link);
    switch (value.method) {
      case 'initialize':
        return reply.answer(this.#answerInitialize(session, message, identity));
      case 'resources/subscribe':
        if (typeof value.params?.['uri'] === 'string') session.subscriptions.add(value.params['uri']);
        break;
      case 'resources/unsubscribe': {
        const uri = value.params?.['uri'];
        if (typeof uri !== 'string') break;
        session.subscriptions.delete(uri);
        // The server knows one subscriber only; it goes on while another session still wants the resource.
        if (this.#isSubscribed(uri))
          return reply.answer(`{"jsonrpc":"2.0","id":${idText(message)},"result":{}}`);
        break;
      }
    }
    if (link.unreadBytes > maxUnreadBytes) {
      const busy = 'the server does not read what it is sent, try again later';
      return reply.answer(errorText(idText(message), errorCodes.serverError, busy));
    }
    this.#forward(session, message, reply, link);
  }

  #forward(session: Session, message: Message, reply: ReplyTo, link: ServerInput): void {
    const id = ++this.#lastId;
    const originalToken = message.token === undefined ? undefined : written(message, message.token);
    this.#pending.set(id, { session, reply, originalId: idText(message), originalToken });
    link.writeLine(onOneLine(restate(message, { newId: String(id), newToken: String(id) })));
  }

  #routeNotification(session: Session, message: Message, link: ServerInput): void {
    const { method, params } = message.value;
    // The bridge is the client that the server knows: it has said that it is initialized, and that it has no roots.
    if (method === 'notifications/initialized' || method === 'notifications/roots/list_changed') return;
    if (method !== 'notifications/cancelled') return link.writeLine(onOneLine(message.text));

    for (const [id, pending] of this.#pending) {
      if (pending.session !== session || JSON.parse(pending.originalId) !== params?.['requestId']) continue;
      link.writeLine(onOneLine(restate(message, { newId: String(id) })));
      return;
    }
  }

  #answerInitialize(session: Session, message: Message, identity: ServerIdentity): string {
    const asked = message.value.params?.['protocolVersion'];
    session.protocolVersion = commonRevision(asked, identity.protocolVersion);
    const result = { ...identity, protocolVersion: session.protocolVersion };
    return `{"jsonrpc":"2.0","id":${idText(message)},"result":${JSON.stringify(result)}}`;
  }

  #receive(link: ServerInput, line: string): void {
    let message: Message;
    try {
      message = readMessage(line);
    } catch {
      this.#options.onJunk(line);
      return;
    }
    try {
      if (message.kind === 'response') this.#receiveResponse(message);
      else if (message.kind === 'request') this.#answerServer(link, message);
      else this.#receiveNotification(message);
    } catch (error) {
      this.#options.onFault(error); // whatever one message did, the next one is read
    }
  }

  #receiveResponse(message: Message): void {
    const { id } = message.value;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (pending === undefined || typeof id !== 'number') return; // cancelled meanwhile, or never asked
    this.#pending.delete(id);
    pending.reply.answer(restate(message, { newId: pending.originalId }));
  }

  #receiveNotification(message: Message): void {
    const { method, params } = message.value;
    if (method === 'notifications/progress') return this.#receiveProgress(message);
    if (method === 'notifications/resources/updated') {
      for (const session of this.#sessions.values()) {
        if (typeof params?.['uri'] === 'string' && session.subscriptions.has(params['uri']))
          session.send(message.text);
      }
      return;
    }
    const isListChange = method?.endsWith('/list_changed') === true;
    // Anything else may tell of one session's calls; with several it cannot be known whose, so nobody gets it.
    if (!isListChange && this.#sessions.size > 1) return;
    for (const session of this.#sessions.values()) session.send(message.text);
  }

  #receiveProgress(message: Message): void {
    const token = message.value.params?.['progressToken'];
    const pending = typeof token === 'number' ? this.#pending.get(token) : undefined;
    if (pending?.originalToken === undefined) return;
    pending.reply.notify(restate(message, { newToken: pending.originalToken }));
  }

  #answerServer(link: ServerInput, message: Message): void {
    const id = idText(message);
    // No capability was offered, so only `ping` may be asked (MCP 2025-11-25, Lifecycle, Capability Negotiation).
    const answer =
      message.value.method === 'ping'
        ? `{"jsonrpc":"2.0","id":${id},"result":{}}`
        : errorText(id, errorCodes.methodNotFound, `the client does not offer ${message.value.method}`);
    link.writeLine(answer);
  }

  async #initialize(link: ServerInput, signal: AbortSignal): Promise<ServerIdentity> {
    const params = {
      protocolVersion: newestRevision,
      capabilities: {},
      clientInfo: { name: 'toolhive', version: this.#options.version },
    };
    const { promise, resolve, reject } = Promise.withResolvers<MessageValue>();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    this.#ask(link, 'initialize', params, { answer: (text) => resolve(JSON.parse(text)), notify: () => {} });
    const { result, error } = await promise;
    if (error !== undefined) throw new Error(`the server refused to be initialized: ${error.message}`);
    const identity = asIdentity(result);
    link.writeLine('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return identity;
  }

  /** Sends a request of the bridge's own. */
  #ask(link: ServerInput, method: string, params: object, reply: ReplyTo): void {
    const id = ++this.#lastId;
    this.#pending.set(id, { session: undefined, reply, originalId: String(id), originalToken: undefined });
    link.writeLine(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  #cancel(id: number, reason: string): void {
    this.#pending.delete(id);
    if (this.#state.kind !== 'up') return;
    const params = { requestId: id, reason };
    this.#state.link.writeLine(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  }

  #isSubscribed(uri: string): boolean {
    return [...this.#sessions.values()].some((session) => session.subscriptions.has(uri));
  }

  #unsubscribe(session: Session, uri: string): void {
    session.subscriptions.delete(uri);
    if (this.#state.kind !== 'up' || this.#isSubscribed(uri)) return;
    this.#ask(this.#state.link, 'resources/unsubscribe', { uri }, { answer: () => {}, notify: () => {} });
  }

  #whenReady(proceed: (state: BridgeState) => void): void {
    if (this.#state.kind === 'down' && this.#state.final) return proceed(this.#state);
    const once = (): void => {
      clearTimeout(timer);
      this.#waiting = this.#waiting.filter((waiter) => waiter !== once);
      proceed(this.#state);
    };
    const timer = setTimeout(once, waitForServerMs).unref();
    this.#waiting.push(once);
  }

  #wake(): void {
    for (const waiter of this.#waiting.splice(0)) waiter();
  }

  #tidy(): void {
    const oldest = this.#now() - sessionIdleMs;
    for (const session of this.#sessions.values()) {
      session.keepAlive();
      if (session.lastSeenMs < oldest && !session.isListening) this.closeSession(session);
    }
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#sessions.values()].toSorted((a, b) => a.lastSeenMs - b.lastSeenMs);
    if (oldest !== undefined) this.closeSession(oldest);
  }
}

interface Pending {
  /** Absent for the bridge's own requests. */
  session: Session | undefined;
  reply: ReplyTo;
  /** The client's id and progress token, as JSON text. */
  originalId: string;
  originalToken: string | undefined;
}

interface UpState {
  kind: 'up';
  link: ServerInput;
  identity: ServerIdentity;
}

type BridgeState =
  UpState | { kind: 'starting'; link: ServerInput } | { kind: 'down'; reason: string; final: boolean };

/** The id of a request, as JSON text. */
function idText(message: Message): string {
  return message.id === undefined ? 'null' : written(message, message.id);
}

function notThere(state: BridgeState): string {
  return state.kind === 'down'
    ? `the server is not running: ${state.reason}`
    : 'the server is still starting';
}

/** The older of what a client asks for and what the server speaks; a client drops out if it cannot do that. */
function commonRevision(asked: unknown, spoken: string): string {
  const isKnown = typeof asked === 'string' && knownRevisions.includes(asked);
  return isKnown && asked < spoken ? asked : spoken;
}

function asIdentity(result: unknown): ServerIdentity {
  const identity = result as Partial<ServerIdentity> | undefined;
  if (typeof identity?.protocolVersion !== 'string' || typeof identity.capabilities !== 'object') {
    throw new Error('the server answered initialize with something else than the protocol says');
  }
  return identity as ServerIdentity; // both members that the bridge relies on were looked at
}
