import type { Duplex } from 'node:stream';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, idText, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { performHandshake } from '../connection/handshake.ts';
import { ServerConnection, answerError, answerResult } from '../connection/connection.ts';
import type { Call, ConnectionOwner, Responder } from '../connection/connection.ts';
import { ConnectionPool } from '../connection/pool.ts';
import type { OpenTransport, OwnConnection } from '../connection/pool.ts';
import {
  askingMethods,
  canBeAsked,
  capabilityFor,
  negotiateVersion,
  isAboutTasks,
  legacyOnlyMethods,
  listMethods,
  newestLegacyVersion,
} from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import type { MessageMiddleware, Passed } from '../pipeline.ts';
import type { Transport } from '../transport/transport.ts';
import { Changes, Subscription, filterFrom, granted, maxUris } from './subscriptions.ts';
import { askModern } from './legacy-call.ts';
import type { Limits } from './limits.ts';
import { ModernCalls } from './modern-call.ts';
import type { PendingRequest, ModernRequest } from './modern-call.ts';
import {
  discoverResult,
  missingCapability,
  modernised,
  withAllVersions,
  withoutTasks,
} from './modern-result.ts';
import { Seal } from './seal.ts';
import { Session } from './session.ts';
import { ToolParameters } from './tool-parameters.ts';
import type { MirroredParameter } from './tool-parameters.ts';

export interface BridgeOptions {
  /** Named in `clientInfo` to the server. */
  version: string;
  /** `shared`: all clients talk to one process. `own`: what a legacy client's session changes in its server, only that session sees. */
  sessions: 'own' | 'shared';
  /** What messages go through on their way to the server, the outermost first. */
  messages: readonly MessageMiddleware[];
  limits: Limits;
  /** Beginning one means to start a process. */
  isSlowToStart: boolean;
  /** Told when the conversation that all share has ended, where nobody else would notice. */
  onLost?: () => void;
  /** The limits on what clients and servers send. */
  input: WorkloadInput;
  /** Told that the server which all share has exceeded a limit, and has to be stopped. */
  onExcess: (reason: string) => void;
  /** Told of bugs in the bridge. */
  onFault: (error: unknown) => void;
  now?: () => number;
}

/** A server to talk to: the conversation that all share, and how to begin others. */
export interface Server {
  transport: Transport;
  openTransport: OpenTransport;
  /** Where that is known already. */
  generation?: ProtocolGeneration;
}

/** Whom `keepAlive` is called on now and then, as long as it is in the set. */
export interface Waiting {
  keepAlive(): void;
}

/**
 * Between clients and a server of whatever eras. One conversation with the server is shared: by modern clients,
 * and by legacy ones where the server keeps nothing of them. Where it does, or where it is to ask a client
 * something, that client has one of its own. Sessions stay when the server goes, and carry on with the next one.
 */
export class Bridge implements ConnectionOwner, AsyncDisposable {
  /** The limits on what clients and servers send. */
  readonly input: WorkloadInput;
  /** Requests whose clients may lose patience. */
  readonly waiting = new Set<Waiting>();
  readonly #options: BridgeOptions;
  readonly #now: () => number;
  readonly #self: ClientIdentity;
  readonly #sessions = new Map<string, Session>();
  readonly #unnamed = new Map<Duplex, Session>();
  readonly #listeners = new Map<Session, { uris: Set<string>; changed: (message: Message) => void }>();
  readonly #pool: ConnectionPool;
  readonly #changes: Changes;
  readonly #modernCalls: ModernCalls;
  readonly #parameters = new ToolParameters();
  readonly #upkeep: NodeJS.Timeout;
  /** Of the server, once it is known; one that dies when it is asked is of the legacy one. */
  #generation: ProtocolGeneration | undefined;
  #state: BridgeState = { kind: 'down', reason: 'the server has not started yet', final: false };
  #whoWaits: (() => void)[] = [];

  constructor(options: BridgeOptions) {
    const { version, limits, isSlowToStart, input, onFault, now = Date.now } = options;
    this.#options = options;
    this.input = input;
    this.#now = now;
    const clientInfo = { name: 'toolhive', version };
    this.#self = { protocolVersion: newestLegacyVersion, capabilities: {}, clientInfo };
    this.#pool = new ConnectionPool({ ...limits, isSlow: isSlowToStart, input, onFault });
    this.#changes = new Changes(this.#self, onFault);
    const onNews = (message: Message): void => void this.#changes.deliver(message);
    this.#modernCalls = new ModernCalls({
      ...limits,
      pool: this.#pool,
      seal: new Seal(now),
      onNews,
      onFault,
    });
    this.#upkeep = setInterval(() => this.#tidy(), limits.upkeepMs).unref();
  }

  /** What the running server said of itself; undefined while none is ready. */
  get identity(): ServerIdentity | undefined {
    return this.#state.kind === 'up' ? this.#state.connection.identity : undefined;
  }

  /** How the server talks, once that is known. */
  get generation(): ProtocolGeneration | undefined {
    return this.#generation;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Takes over a freshly started server, and lets waiting requests through. Throws if it cannot be greeted. */
  async connect({ transport, openTransport, generation }: Server, signal: AbortSignal): Promise<void> {
    const { input, onFault } = this.#options;
    const connection = new ServerConnection({ transport, owner: this, input, onFault });
    const before = this.#state;
    this.#state = { kind: 'starting', connection };
    if (before.kind !== 'down') void before.connection.close('another one took its place').catch(onFault);
    this.#generation = generation ?? this.#generation;
    try {
      await performHandshake(connection, {
        client: this.#self,
        generation: this.#generation,
        probeMs: this.#options.limits.probeMs,
        signal,
      });
    } catch (error) {
      // Some servers end when the first thing they hear is not `initialize`.
      if (!connection.isOpen && this.#generation === undefined) this.#generation = 'legacy';
      if (connection.excess !== undefined)
        throw unavailable(`the server ${connection.excess}`, { cause: error });
      throw error;
    }
    this.#generation = connection.generation;
    this.#state = { kind: 'up', connection };
    this.#pool.use(openTransport, connection.generation);
    this.#parameters.forget();
    // Only now it is known which sessions will have a conversation of their own.
    for (const [session, listener] of this.#listeners)
      if (!this.#hasOwn(session)) this.#changes.add(listener);
    this.#changes.follow(connection);
    this.#wake();
  }

  /** Fails what is pending, because the server is gone. With `final` nobody is going to start another one soon. */
  disconnect(reason: string, final: boolean): void {
    const before = this.#state;
    this.#state = { kind: 'down', reason, final };
    if (before.kind !== 'down') void before.connection.close(reason).catch(this.#options.onFault);
    this.#modernCalls.close(reason);
    void this.#pool.close(reason, final).catch(this.#options.onFault);
    if (final) this.#wake();
  }

  /** A session that begins; one whose client is never answered is never kept. */
  beginSession(): Session {
    return new Session(this.#now());
  }

  keepSession(session: Session): void {
    if (this.#sessions.has(session.id)) return;
    if (this.#sessions.size >= this.#options.limits.maxSessions) this.#forgetOldest();
    this.#sessions.set(session.id, session);
    session.isLasting = true;
    const listener = { uris: session.subscriptions, changed: ({ text }: Message) => session.send(text) };
    this.#listeners.set(session, listener);
    if (!this.#hasOwn(session)) this.#changes.add(listener);
  }

  /** The session of requests that name none. It lasts as long as their connection, so that clients share nothing. */
  sessionOn(connection: Duplex): Session {
    const known = this.#unnamed.get(connection);
    if (known !== undefined) return known;
    const session = this.beginSession();
    session.isLasting = true;
    this.#unnamed.set(connection, session);
    connection.once('close', () => {
      this.#unnamed.delete(connection);
      this.closeSession(session);
    });
    return session;
  }

  /** Ends the processes that are kept for the next request over a connection, which has ended. */
  forgetConnection(connection: string): void {
    this.#modernCalls.forget(connection);
  }

  findSession(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.lastSeenMs = this.#now();
    return session;
  }

  closeSession(session: Session): void {
    this.#sessions.delete(session.id);
    session.isLasting = false;
    if (this.#state.kind === 'up') this.#state.connection.refuseAllOf(session, 'the session was closed');
    session.close();
    const listener = this.#listeners.get(session);
    this.#listeners.delete(session);
    if (listener !== undefined) this.#changes.delete(listener);
  }

  /** Takes one message from a legacy client. `reply` is used exactly once for a request, and never for anything else. */
  accept(session: Session, received: Message, responder: Responder): void {
    if (received.kind === 'response') return session.answered(received);
    const passed = this.#passed(received, responder);
    if (passed === undefined) return;
    const { message, reply } = passed;
    if (this.#state.kind === 'up') return this.#route(session, message, reply, this.#state.connection);
    if (message.kind !== 'request') return; // nothing to tell a server that knows of nothing
    this.#whenReady(message, reply, (connection) => this.#route(session, message, reply, connection));
  }

  /** Takes one request from a modern client. */
  acceptModern(received: ModernRequest, responder: Responder): PendingRequest {
    const passed = this.#passed(received.message, responder);
    if (passed === undefined) return nothing;
    const { message, reply } = passed;
    const request = { ...received, message };
    if (this.#state.kind === 'up') return this.#routeModern(request, reply, this.#state.connection);
    let pending: PendingRequest | undefined;
    let isGivenUp = false;
    this.#whenReady(request.message, reply, (connection) => {
      if (!isGivenUp) pending = this.#routeModern(request, reply, connection);
    });
    return {
      giveUp() {
        isGivenUp = true;
        pending?.giveUp();
      },
    };
  }

  /** Which parameters of a tool are mirrored in headers. Calls back at once when that is known already. */
  withMirrored(tool: string, proceed: (mirrored: readonly MirroredParameter[]) => void): void {
    const real = this.#options.messages.reduce<string | undefined>(
      (name, middleware) =>
        name === undefined || middleware.realName === undefined ? name : middleware.realName(name),
      tool,
    );
    if (this.#state.kind !== 'up' || real === undefined) return proceed([]); // whoever calls it is told soon enough
    this.#parameters.of(this.#state.connection, real, proceed);
  }

  /** The same for a tool by the server's own name. */
  async mirrored(tool: string): Promise<readonly MirroredParameter[]> {
    const state = this.#state;
    return state.kind === 'up'
      ? new Promise((resolve) => this.#parameters.of(state.connection, tool, resolve))
      : [];
  }

  notified(message: Message, call: Call | undefined): void {
    if (message.value.method === 'notifications/tools/list_changed') this.#parameters.forget();
    if (this.#changes.deliver(message)) return;
    // Anything else tells of somebody's request; when it cannot be known whose, nobody gets it.
    if (call !== undefined) {
      // A modern client that wants logs has a conversation of its own, where it is certain that they are its own.
      const isUnwanted =
        isModernCall(call) &&
        this.#generation === 'legacy' &&
        message.value.method === 'notifications/message';
      if (!isUnwanted) call.reply.notify(message.text);
      return;
    }
    if (this.#sessions.size === 1) for (const session of this.#sessions.values()) session.send(message.text);
  }

  /** The server was told that nobody here can be asked. */
  asked(connection: ServerConnection, message: Message, call: Call | undefined): void {
    connection.decline(message);
    const required = capabilityFor[message.value.method ?? ''];
    // A list has no use for the answer, whatever else the server wants to know meanwhile.
    const isWanted = call !== undefined && askingMethods.has(call.method);
    if (!isWanted || required === undefined || !isModernCall(call)) return;
    connection.cancel(call, 'the client cannot be asked');
    missingCapability(call.reply, call.originalId, required);
  }

  /** It has ended by itself; what comes in meanwhile waits for the next one. */
  lost(connection: ServerConnection): void {
    if (this.#state.kind !== 'up' || this.#state.connection !== connection) return;
    this.#state = { kind: 'starting', connection };
    if (connection.excess === undefined) this.#options.onLost?.();
    else this.#options.onExcess(connection.excess);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#upkeep);
    this.disconnect('the workload was stopped', true);
    for (const session of [...this.#sessions.values(), ...this.#unnamed.values()]) session.close();
    this.#sessions.clear();
    this.#unnamed.clear();
    await this.#pool.close('the workload was stopped', true);
  }

  #passed(message: Message, reply: Responder): Passed | undefined {
    if (message.kind !== 'request') return { message, reply };
    let passed: Passed | undefined = { message, reply };
    for (const middleware of this.#options.messages) {
      passed = middleware.pass(passed.message, passed.reply);
      if (passed === undefined) return undefined;
    }
    return passed;
  }

  #route(session: Session, message: Message, reply: Responder, shared: ServerConnection): void {
    if (message.kind === 'notification') return this.#routeNotification(session, message, shared);
    if (message.value.method === 'initialize')
      return this.#initialize(session, message, reply, shared.identity);
    if (!this.#hasOwn(session)) return this.#askShared(session, message, reply, shared);
    void this.#askOwn(session, message, reply);
  }

  async #askOwn(session: Session, message: Message, reply: Responder): Promise<void> {
    try {
      const { connection } = await this.#ownConnection(session);
      if (this.#remember(session, message, reply)) connection.ask(message, reply, session);
    } catch (error) {
      answerError(reply, idText(message), errorCodes.serverError, messageOf(error));
    }
  }

  /** Its own conversation is one with a legacy server: to a modern one, all requests are alike. */
  #hasOwn(session: Session): boolean {
    return this.#options.sessions === 'own' && this.#generation !== 'modern' && session.isLasting;
  }

  async #ownConnection(session: Session): Promise<OwnConnection> {
    if (session.own !== undefined) return session.own;
    const holder: ConnectionOwner = {
      notified: (message, call) =>
        call === undefined || isChange(message)
          ? session.send(message.text)
          : call.reply.notify(message.text),
      asked: (connection, message, call) => session.ask(connection, message, call),
      lost: () => (session.own = undefined),
    };
    session.own = this.#pool.take(holder, session.client);
    session.own.catch(() => (session.own = undefined));
    const own = await session.own;
    // An earlier one may have been lost, with everything that the session had asked of it.
    for (const uri of session.subscriptions)
      own.connection.request('resources/subscribe', { uri }).catch(() => {});
    const { logLevel: level } = session;
    if (level !== undefined) own.connection.request('logging/setLevel', { level }).catch(() => {});
    return own;
  }

  #askShared(session: Session, message: Message, reply: Responder, connection: ServerConnection): void {
    const { method, params } = message.value;
    const uri = params?.['uri'];
    const done = (): void => answerResult(reply, idText(message), {});
    if (connection.generation === 'modern') {
      if (method !== undefined && legacyOnlyMethods.has(method)) {
        if (!this.#remember(session, message, reply)) return;
        this.#changes.update();
        return done();
      }
      return askModern(connection, session, message, reply);
    }
    // A server takes all who share a conversation for one, and would show each the tasks of the others.
    if (isAboutTasks(method)) return notKnown(message, reply);
    if (!this.#remember(session, message, reply)) return;
    if (method === 'resources/unsubscribe' && typeof uri === 'string') {
      // The server knows one subscriber only; it goes on while another client still wants the resource.
      if (this.#changes.isWanted(uri)) return done();
      this.#changes.wasAsked(uri, false);
    }
    if (method === 'resources/subscribe' && typeof uri === 'string') this.#changes.wasAsked(uri, true);
    connection.ask(message, reply, session);
  }

  /** Keeps what a session must not lose when its server does; answers the request when that is too much. */
  #remember(session: Session, message: Message, reply: Responder): boolean {
    const { method, params } = message.value;
    const uri = params?.['uri'];
    const level = params?.['level'];
    if (method === 'resources/subscribe' && typeof uri === 'string') {
      if (session.subscriptions.size >= maxUris && !session.subscriptions.has(uri)) {
        const why = `a session may subscribe to at most ${maxUris} resources`;
        answerError(reply, idText(message), errorCodes.invalidParams, why);
        return false;
      }
      session.subscriptions.add(uri);
    }
    if (method === 'resources/unsubscribe' && typeof uri === 'string') session.subscriptions.delete(uri);
    if (method === 'logging/setLevel' && typeof level === 'string') session.logLevel = level;
    return true;
  }

  #routeNotification(session: Session, message: Message, shared: ServerConnection): void {
    const { method, params } = message.value;
    if (method === 'notifications/initialized') return; // what talks to the server has said so itself
    const send = (connection: ServerConnection): void => {
      if (method !== 'notifications/cancelled') return connection.notify(message.text);
      const call = connection.callOf(session, params?.['requestId']);
      if (call !== undefined) connection.refuse(call, 'the request was cancelled');
    };
    if (!this.#hasOwn(session)) {
      // A server that all share was told that its client has no roots; a modern one is told with every request.
      if (method !== 'notifications/roots/list_changed') send(shared);
      return;
    }
    void session.own?.then(
      ({ connection }) => send(connection),
      () => {},
    ); // without one there is nobody to be told
  }

  #initialize(session: Session, message: Message, reply: Responder, identity: ServerIdentity): void {
    const { protocolVersion: asked, capabilities, clientInfo } = message.value.params ?? {};
    const protocolVersion = negotiateVersion(asked, identity.protocolVersion);
    session.client = {
      protocolVersion,
      capabilities: isObject(capabilities) ? capabilities : {},
      clientInfo,
    };
    this.keepSession(session);
    const offered = this.#hasOwn(session) ? identity : withoutTasks(identity);
    answerResult(reply, idText(message), { ...offered, protocolVersion });
  }

  #routeModern(request: ModernRequest, reply: Responder, shared: ServerConnection): PendingRequest {
    const { message, client } = request;
    const { method = '', params } = message.value;
    if (legacyOnlyMethods.has(method) || (shared.generation === 'legacy' && isAboutTasks(method))) {
      notKnown(message, reply);
      return nothing;
    }
    if (method === 'subscriptions/listen') return this.#listen(message, reply, shared);
    if (shared.generation === 'modern') {
      const isGreeting = method === 'server/discover';
      return pending(shared, shared.ask(message, isGreeting ? withAllVersions(reply) : reply));
    }
    if (method === 'server/discover') {
      answerResult(reply, idText(message), discoverResult(shared.identity));
      return nothing;
    }
    const mayHaveOwn = this.#options.sessions === 'own';
    const isAskable = mayHaveOwn && canBeAsked(client);
    if (isAskable && listMethods.has(method)) return this.#modernCalls.list(request, reply);
    // What a call changes in a legacy server, calls over other connections must not find there.
    const isPersonal = mayHaveOwn || params?.['requestState'] !== undefined;
    if (isPersonal && askingMethods.has(method)) return this.#modernCalls.accept(request, reply);
    const decorated: Responder = {
      notify: (text) => reply.notify(text),
      answer: (text, value) => reply.answer(modernised(text, value, method, shared.identity), value),
    };
    return pending(shared, shared.ask(message, decorated));
  }

  #listen(message: Message, reply: Responder, { identity }: ServerConnection): PendingRequest {
    const filter = filterFrom(message.value.params);
    const { id } = message.value;
    if (filter === undefined || id === undefined) {
      const why = 'notifications must say what to listen to, with at most 1000 resources';
      answerError(reply, idText(message), errorCodes.invalidParams, why);
      return nothing;
    }
    const subscription = new Subscription(id, granted(filter, identity), (text) => reply.notify(text));
    this.#changes.add(subscription);
    return { giveUp: () => this.#changes.delete(subscription) };
  }

  #whenReady(message: Message, reply: Responder, proceed: (connection: ServerConnection) => void): void {
    this.#afterWait(() => {
      if (this.#state.kind === 'up') proceed(this.#state.connection);
      else answerError(reply, idText(message), errorCodes.serverError, notThere(this.#state));
    });
  }

  #afterWait(proceed: () => void): void {
    if (this.#state.kind === 'down' && this.#state.final) return proceed();
    const once = (): void => {
      clearTimeout(timer);
      this.#whoWaits = this.#whoWaits.filter((waiter) => waiter !== once);
      proceed();
    };
    const timer = setTimeout(once, this.#options.limits.waitForServerMs).unref();
    this.#whoWaits.push(once);
  }

  #wake(): void {
    for (const waiter of this.#whoWaits.splice(0)) waiter();
  }

  #tidy(): void {
    for (const one of this.waiting) one.keepAlive(); // first, so that whoever waits is seen to be there
    const { abandonedMs } = this.#options.limits;
    this.#pool.giveUpAbandoned(abandonedMs);
    if (this.#state.kind === 'up') this.#state.connection.giveUpAbandoned(abandonedMs);
    const oldest = this.#now() - this.#options.limits.sessionIdleMs;
    for (const session of this.#sessions.values()) {
      session.stream.keepAlive();
      if (session.lastSeenMs < oldest && !session.isListening) this.closeSession(session);
    }
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#sessions.values()].toSorted(
      (a, b) => Number(a.isListening) - Number(b.isListening) || a.lastSeenMs - b.lastSeenMs,
    );
    if (oldest !== undefined) this.closeSession(oldest);
  }
}

const nothing: PendingRequest = { giveUp() {} };

/** Only sessions are named as the caller of a request that is passed on. */
function isModernCall({ caller }: Call): boolean {
  return caller === undefined;
}

function pending(connection: ServerConnection, call: Call | undefined): PendingRequest {
  return call === undefined ? nothing : { giveUp: () => connection.cancel(call, 'the client went away') };
}

function notKnown(message: Message, reply: Responder): void {
  answerError(reply, idText(message), errorCodes.methodNotFound, `${message.value.method} is not known`);
}

function isChange({ value: { method = '' } }: Message): boolean {
  return method.endsWith('/list_changed') || method === 'notifications/resources/updated';
}

type BridgeState =
  | { kind: 'up' | 'starting'; connection: ServerConnection }
  | { kind: 'down'; reason: string; final: boolean };

function notThere(state: BridgeState): string {
  return state.kind === 'down'
    ? `the server is not running: ${state.reason}`
    : 'the server is still starting';
}
