import { unavailable } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { Call, ConnectionOwner, ServerConnection } from '../connection/connection.ts';
import { performHandshake } from '../connection/handshake.ts';
import { ConnectionPool } from '../connection/pool.ts';
import { answerError, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, idText } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { askingMethods, capabilityFor, isOptional, newestLegacyVersion } from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import { admit } from './admission.ts';
import { FirstProcess } from './first-process.ts';
import type { FirstServer } from './first-process.ts';
import { LegacyRouter } from './legacy-routing.ts';
import { LegacySupport } from './legacy-support.ts';
import type { Limits } from './limits.ts';
import type { ModernRequest, PendingRequest } from './modern-call.ts';
import { ModernCalls } from './modern-calls.ts';
import { TasksForLegacy } from './tasks/tasks-for-legacy.ts';
import { TasksForModern } from './tasks/tasks-for-modern.ts';
import { withTaskSupport } from './tasks/offers.ts';
import { missingCapability } from './modern-result.ts';
import { ModernRouter, deferred } from './modern-routing.ts';
import { PendingReplies } from './pending-replies.ts';
import { Seal } from '../sealing/seal.ts';
import type { SealKeys } from '../sealing/seal.ts';
import { ServerState } from './server-state.ts';
import type { Session } from './session.ts';
import { SessionListeners } from './session-listeners.ts';
import { setUpAgain } from './session-setup.ts';
import { SessionTable } from './session-table.ts';
import { SharedProcesses } from './shared-processes.ts';
import type { SharedStreams } from './shared-streams.ts';
import { Sharing } from './sharing.ts';
import type { SharingOptions } from './sharing.ts';
import { Subscriptions } from './subscriptions.ts';
import { ToolParameters } from './tool-parameters.ts';

export interface BridgeOptions extends SharingOptions {
  workload: string;
  /** ToolHive's version, for `clientInfo`. */
  version: string;
  messages: MessagePipeline;
  /** The events of sessions that other proxies can continue. By default, only this proxy knows them. */
  shared?: SharedStreams | undefined;
  /** The keys for the IDs of tasks, so that these stay valid after a restart. By default, they do not. */
  taskKeys?: SealKeys | undefined;
  /** Believe the `X-Forwarded-*` headers of requests. */
  trustProxyHeaders?: boolean | undefined;
  limits: Limits;
  /** A further connection means a further process. */
  isSlowToStart: boolean;
  /** Called when the shared connection ends and nothing else reports the end. */
  onLost?: () => void;
  /** The limits on messages from clients and servers. */
  input: WorkloadInput;
  /** Told that the shared server has exceeded a limit or failed, and must be stopped. */
  onExcess: (reason: string) => void;
  /** Told of bugs in the bridge. */
  onFault: (error: unknown) => void;
  now?: () => number;
}

/** A server to connect to: the transport that all clients share, and how to open others. */
export interface Server extends FirstServer {
  /** Another version is another server. */
  version?: string | undefined;
  /** Undefined if the handshake must detect the generation. */
  generation?: ProtocolGeneration | undefined;
  /** The description that a modern server gives legacy clients, if the server supports them. Undefined if unknown. */
  legacy?: ServerIdentity | 'unsupported' | undefined;
}

/** A session of a client. */
export interface OpenSession {
  /** Anyone who knows this ID can use the session. */
  id: string;
  client: ClientIdentity;
  /** Whether the session began through the API. */
  isRelayed: boolean;
  startedMs: number;
  lastSeenMs: number;
  process: 'own' | 'shared';
}

/**
 * Connects clients to a server and supports all protocol versions. All modern clients share one connection, and
 * legacy clients share it too if the server keeps no state for them. Otherwise, and if the server may ask its client,
 * each client has a separate connection. Sessions survive a server restart and continue with the next process.
 */
export class Bridge implements ConnectionOwner, AsyncDisposable {
  readonly sessions: SessionTable;
  readonly sharing: Sharing;
  readonly workload: string;
  readonly trustProxyHeaders: boolean;
  /** The limits on messages from clients and servers. */
  readonly input: WorkloadInput;
  /** Requests whose connections must be kept alive. */
  readonly pending = new PendingReplies();
  readonly #options: BridgeOptions;
  readonly #client: ClientIdentity;
  readonly #server: ServerState;
  readonly #pool: ConnectionPool;
  readonly #first: FirstProcess;
  readonly #processes: SharedProcesses;
  readonly #subscriptions: Subscriptions;
  readonly #listeners: SessionListeners;
  readonly #toolParameters = new ToolParameters();
  readonly #modernCalls: ModernCalls;
  /** A server that supports only modern clients treats all requests alike, and needs one connection for all sessions. */
  readonly #hasOwn = ({ isLasting }: Session): boolean =>
    this.sharing.mayBeSeparate && !this.legacySupport.isUnsupported && isLasting;
  readonly #tasksForLegacy: TasksForLegacy;
  readonly #tasksForModern: TasksForModern;
  readonly #legacy: LegacyRouter;
  readonly legacySupport: LegacySupport;
  readonly #modern: ModernRouter;
  readonly #maintenance: NodeJS.Timeout;
  /** The generation of the server, as soon as it is known. */
  #generation: ProtocolGeneration | undefined;

  constructor(options: BridgeOptions) {
    const { workload, version, limits, isSlowToStart, input, messages, onFault, now = Date.now } = options;
    this.#options = options;
    this.workload = workload;
    this.trustProxyHeaders = options.trustProxyHeaders === true;
    this.input = input;
    this.#client = ownClient(version);
    this.#server = new ServerState(limits.waitForServerMs);
    const sharing = (this.sharing = new Sharing(options));
    const keepMs = (): number => (sharing.isTogether ? limits.sharedIdleMs : limits.keepMs);
    const onChange = (): void => this.#first.look();
    this.#pool = new ConnectionPool({ ...limits, keepMs, isSlow: isSlowToStart, input, onChange, onFault });
    const processes = (this.#processes = new SharedProcesses({ ...limits, pool: this.#pool, sharing }));
    this.#subscriptions = new Subscriptions(this.#client, sharing, (text) => input.reportInvalid(text));
    const used = { client: this.#client, pool: this.#pool, subscriptions: this.#subscriptions, sharing };
    this.#first = new FirstProcess({ ...options, ...limits, ...used });
    this.sessions = new SessionTable({
      ...limits,
      workload,
      messages,
      ...clocksFor(now),
      shared: options.shared,
      onAdopted: (session) => setUpAgain(this, session, onFault),
      onKept: (session) => this.#listeners.add(session),
      onClosed: (session) => {
        this.#tasksForLegacy.forget(session);
        this.#server.connection?.refuseAllOf(session, 'the session was closed');
        this.#listeners.delete(session);
      },
    });
    this.#modernCalls = new ModernCalls({
      ...limits,
      pool: this.#pool,
      seal: new Seal(now),
      messages,
      onAsked: () => sharing.learn('asked'),
      onChange: (notification, principal) => this.#subscriptions.deliver(notification, principal),
      onConnection: (connection, principal) => this.#subscriptions.followCalls(connection, principal),
      onFault,
    });
    const shared = { pool: this.#pool, subscriptions: this.#subscriptions, messages, sharing, processes };
    const hasOwn = this.#hasOwn;
    const onBegun = (): void => this.#subscriptions.update();
    this.#tasksForLegacy = new TasksForLegacy({ ...limits, now, onBegun });
    this.#listeners = new SessionListeners(this.#subscriptions, this.#tasksForLegacy, hasOwn);
    this.legacySupport = new LegacySupport(this.#pool, this.#client, () => this.#listeners.follow());
    this.#legacy = new LegacyRouter({
      ...shared,
      tasks: this.#tasksForLegacy,
      sessions: this.sessions,
      hasOwn,
      ownIdentity: () => this.legacySupport.identity,
    });
    const seal = new Seal(now, options.taskKeys);
    this.#tasksForModern = new TasksForModern({ ...options, ...limits, ...shared, seal, now });
    this.#modern = new ModernRouter({
      ...shared,
      tasks: this.#tasksForModern,
      calls: this.#modernCalls,
      toolParameters: this.#toolParameters,
    });
    this.#maintenance = setInterval(() => this.#maintain(), limits.maintenanceMs).unref();
  }

  /** The connection to the running server that all clients share. Undefined while none is up. */
  get connection(): ServerConnection | undefined {
    return this.#server.connection;
  }

  /** The protocol versions that the server supports, once that is known. */
  get generation(): ProtocolGeneration | undefined {
    return this.#generation;
  }

  /** Connects to a freshly started server, and lets waiting requests through. Throws if the handshake fails. */
  async connect({ version, generation, legacy, ...server }: Server, signal: AbortSignal): Promise<void> {
    const connection = this.#first.open(server, this);
    this.#server.starting(connection);
    this.#first.closeReplaced();
    this.#generation = generation ?? this.#generation;
    const handshake = { ...this.#options.limits, client: this.#client, generation: this.#generation, signal };
    await performHandshake(connection, handshake).catch((error: unknown) => {
      // Some legacy servers end when the first message is not `initialize`.
      if (!connection.isOpen && this.#generation === undefined) this.#generation = 'legacy';
      throw excessOf(connection, error);
    });
    this.#generation = connection.generation;
    this.legacySupport.follow(connection, legacy);
    this.#pool.use(server.openTransport);
    this.#toolParameters.forget();
    // The handshake determines which sessions have separate connections.
    this.#listeners.follow();
    this.#subscriptions.follow(connection);
    this.sharing.decide(connection, version);
    this.#server.up(connection);
    this.#first.follow(connection);
  }

  /** Answers pending requests with errors because the server is gone. With `isFinal`, none will start soon. */
  disconnect(reason: string, isFinal: boolean): void {
    this.#server.down(reason, isFinal);
    this.#first.close(reason);
    this.#modernCalls.close(reason);
    void this.#pool.close(reason, isFinal).catch(this.#options.onFault);
  }

  /** Takes a message of a legacy client. `responder` is used for a request only. */
  accept(session: Session, received: Message, responder: Responder): void {
    if (received.kind === 'response') return session.answered(received);
    const shared = this.#hasOwn(session) ? undefined : this.connection;
    const answering = withTaskSupport(responder, received, session.client, shared);
    const route = (message: Message, guarded: Responder): void =>
      this.#routeLegacy(session, message, guarded);
    admit(this.#options.messages, session, received, answering, route);
  }

  /** Takes a request of a modern client. */
  acceptModern(received: ModernRequest, responder: Responder): PendingRequest {
    const { messages } = this.#options;
    if (messages.isEmpty) return this.#routeModern(received, responder);
    return deferred((proceed) =>
      messages.request(received.caller, received.message, responder, (message, guarded) =>
        proceed(() => this.#routeModern({ ...received, message }, guarded)),
      ),
    );
  }

  /** The sessions that clients can name. */
  openSessions(): OpenSession[] {
    return this.sessions.all().map((session) => describeSession(session, this.#processes));
  }

  /** Ends a session. Returns whether there was one. */
  endSession(id: string): boolean {
    return this.sessions.end(id);
  }

  /** Ends the processes that are kept for further requests over a connection of a client, which has ended. */
  forgetConnection(clientConnection: string): void {
    this.#modernCalls.forget(clientConnection);
  }

  /** Returns the parameters of a tool that are mirrored in headers, by the server's own name of the tool. */
  mirrored(tool: string): Promise<readonly MirroredParameter[]> {
    return this.#toolParameters.mirrored(this.#server.connection, tool);
  }

  notified(notification: Message, call: Call | undefined): void {
    if (notification.value.method === 'notifications/tools/list_changed') this.#toolParameters.forget();
    if (this.#subscriptions.deliver(notification)) return;
    // Any other notification belongs to a request. If the request is unknown, no client receives the notification.
    if (isUnwanted(notification, call, this.#generation)) return;
    (call?.responder ?? this.sessions.only)?.notify(notification);
  }

  /** Takes requests from the server on the shared connection. */
  asked(connection: ServerConnection, request: Message, call: Call | undefined): void {
    this.sharing.learn('asked');
    declineRequest(connection, request, call);
  }

  renewed(connection: ServerConnection): void {
    this.#subscriptions.follow(connection);
  }

  /** The server has stopped. Requests wait for the next process. */
  lost(connection: ServerConnection): void {
    if (this.#server.connection !== connection) return;
    this.#server.starting(connection);
    if (connection.excess === undefined) this.#options.onLost?.();
    else this.#options.onExcess(connection.excess);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#maintenance);
    this.disconnect('the workload was stopped', true);
    this.sessions.closeAll();
    await this.#pool.close('the workload was stopped', true);
    await this.#first.closed();
  }

  #routeLegacy(session: Session, message: Message, responder: Responder): void {
    if (message.kind === 'notification') {
      // Without a server, there is nothing to notify.
      if (this.connection !== undefined) this.#legacy.notification(session, message, this.connection);
      return;
    }
    this.#server.whenUp(
      (connection) => {
        if (this.sharing.mayBeSeparate && this.legacySupport.isUnknown)
          this.legacySupport
            .probe()
            .then(() => this.#routeLegacy(session, message, responder))
            .catch(raiseFault);
        else this.#legacy.request(session, message, responder, connection);
      },
      (reason) => answerError(responder, idText(message), errorCodes.serverError, reason),
    );
  }

  #routeModern(request: ModernRequest, responder: Responder): PendingRequest {
    return deferred((proceed) =>
      this.#server.whenUp(
        (connection) => proceed(() => this.#modern.request(request, responder, connection)),
        (reason) => answerError(responder, idText(request.message), errorCodes.serverError, reason),
      ),
    );
  }

  #maintain(): void {
    this.pending.keepAlive(); // first, so that abandoned ones are noticed
    const { abandonedMs } = this.#options.limits;
    for (const each of [this.#pool, this.connection]) each?.giveUpAbandoned(abandonedMs);
    this.#processes.maintain();
    this.sessions.maintain();
    this.#first.look();
    this.#tasksForModern.maintain();
  }
}

/** The clock of the system, which can be set, and one that only runs. A clock that is given is both. */
function clocksFor(now: () => number): { now: () => number; elapsed: () => number } {
  return { now, elapsed: now === Date.now ? () => performance.now() : now };
}

function ownClient(version: string): ClientIdentity {
  const clientInfo = { name: 'toolhive', version };
  return { protocolVersion: newestLegacyVersion, capabilities: {}, clientInfo };
}

/** Returns why a handshake has failed. */
function excessOf({ excess }: ServerConnection, error: unknown): unknown {
  return excess === undefined ? error : unavailable(`the server ${excess}`, { cause: error });
}

/**
 * Declines a request of the server, because the handshake said that the client cannot be asked. A call that needs the answer
 * ends (SEP-2575). Any other call continues, and its client learns of the missing capability if
 * the call fails.
 */
function declineRequest(connection: ServerConnection, request: Message, call: Call | undefined): void {
  connection.decline(request);
  const { method = '' } = request.value;
  const required = capabilityFor[method];
  if (call === undefined || required === undefined || !needsAnswer(call)) return;
  const isFirst = call.missing === undefined;
  call.missing = required;
  if (!isOptional(method)) {
    connection.cancel(call, 'the client cannot be asked');
    missingCapability(call.responder, idText(call.request), required);
  } else if (isFirst) {
    const { responder } = call;
    call.responder = withAnswer(responder, (response) => {
      if (response.value.error === undefined) responder.answer(response);
      else missingCapability(responder, idText(response), call.missing ?? required);
    });
  }
}

/** Only the requests of legacy clients name their session as the caller. */
function isOfModernClient({ caller }: Call): boolean {
  return caller === undefined;
}

function describeSession(session: Session, processes: SharedProcesses): OpenSession {
  const { id, client, isRelayed, startedMs, lastSeenMs, own } = session;
  const process = own === undefined || processes.of(session) !== undefined ? 'shared' : 'own';
  return { id, client, isRelayed, startedMs, lastSeenMs, process };
}

/** Whether a call fails if the client cannot be asked. A list does not depend on the answer, even if the server asks for more. */
const needsAnswer = (call: Call): boolean =>
  isOfModernClient(call) && askingMethods.has(call.request.value.method ?? '');

/**
 * Whether a log message is for no client. A modern client that wants log messages of a legacy server has a separate
 * connection, so every message on that connection belongs to the client. A modern server sends them only for a call that
 * asked for them.
 */
function isUnwanted(
  { value }: Message,
  call: Call | undefined,
  generation: ProtocolGeneration | undefined,
): boolean {
  if (value.method !== 'notifications/message') return false;
  return call === undefined ? generation === 'modern' : isOfModernClient(call) && generation === 'legacy';
}
