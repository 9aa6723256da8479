import { messageOf } from '@toolhive/contract/failure';
import type { ConnectionOwner, ServerConnection } from '../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../connection/pool.ts';
import { answerError, answerResult, answerUnknown } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import {
  canBeAsked,
  isAboutTasks,
  legacyOnlyMethods,
  listMethods,
  negotiateVersion,
} from '../protocol/protocol.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';
import { askModern } from './legacy-call.ts';
import { forLegacyClient } from './tasks/offers.ts';
import type { TasksForLegacy } from './tasks/tasks-for-legacy.ts';
import type { Session } from './session.ts';
import type { SessionTable } from './session-table.ts';
import type { SharedProcesses } from './shared-processes.ts';
import { signOf } from './sharing.ts';
import type { Sharing } from './sharing.ts';
import { isListChange, maxUris } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';

/** How often a request looks for a connection if the connection is lost before the request was sent. */
const maxTries = 5;

export interface LegacyRouterOptions {
  sessions: SessionTable;
  pool: ConnectionPool;
  subscriptions: Subscriptions;
  tasks: TasksForLegacy;
  /** Whether a session has a separate connection, or shares one with some of the others. */
  hasOwn: (session: Session) => boolean;
  sharing: Sharing;
  /** The processes that some of the sessions share. */
  processes: SharedProcesses;
  /** What the server says about itself over a connection of a session's own. */
  ownIdentity: () => ServerIdentity | undefined;
}

/** Routes the messages of legacy clients: to the connection that all clients share, or to one of the session's own. */
export class LegacyRouter {
  readonly #options: LegacyRouterOptions;

  constructor(options: LegacyRouterOptions) {
    this.#options = options;
  }

  request(session: Session, request: Message, responder: Responder, shared: ServerConnection): void {
    const { method } = request.value;
    if (method === 'initialize') this.#initialize(session, request, responder, shared.identity);
    // Over HTTP+SSE, clients of both generations ask this first, and only then say who they are.
    else if (method === 'server/discover') answerUnknown(request, responder);
    else if (this.#options.hasOwn(session) && !this.#canShare(session, request))
      this.#askOwn(session, request, responder);
    else this.#askShared(session, request, responder, shared);
  }

  /**
   * Whether the shared connection can answer for a session, so that the session's connection can stay closed. Before
   * the session's first call, a list depends only on the client's capabilities.
   */
  #canShare(session: Session, { value: { method = '' } }: Message): boolean {
    return session.own === undefined && listMethods.has(method) && !canBeAsked(session.client);
  }

  notification(session: Session, notification: Message, shared: ServerConnection): void {
    const { method, params } = notification.value;
    if (method === 'notifications/initialized') return; // every connection has sent its own
    const send = (connection: ServerConnection): void => {
      if (method !== 'notifications/cancelled') return connection.notify(notification);
      if (this.#options.tasks.cancelled(session, params?.['requestId'])) return;
      const call = connection.callOf(session, params?.['requestId']);
      if (call !== undefined) connection.refuse(call, 'the request was cancelled');
    };
    if (!this.#options.hasOwn(session)) {
      // The shared connection declares no roots. A modern server receives the roots with every request.
      if (method !== 'notifications/roots/list_changed') send(shared);
      return;
    }
    void session.own?.then(
      ({ connection }) => send(connection),
      () => {}, // no server is running
    );
  }

  #initialize(session: Session, request: Message, responder: Responder, identity: ServerIdentity): void {
    const { protocolVersion: asked, capabilities, clientInfo } = request.value.params ?? {};
    const protocolVersion = negotiateVersion(
      asked,
      (this.#options.ownIdentity() ?? identity).protocolVersion,
    );
    session.client = {
      protocolVersion,
      capabilities: isObject(capabilities) ? capabilities : {},
      clientInfo,
    };
    this.#options.sessions.keep(session);
    // A process that was started for an earlier request, such as a ping, does not know the client.
    void session.own?.then(
      (own) => own.giveBack(),
      () => {}, // there is none
    );
    session.own = undefined;
    const { hasOwn, ownIdentity, pool, processes } = this.#options;
    // Its process starts while the client reads the lists.
    if (hasOwn(session) && !processes.isReadyFor(session)) pool.prepare();
    const offered = hasOwn(session) ? (ownIdentity() ?? identity) : forLegacyClient(identity, session.client);
    answerResult(responder, idText(request), { ...offered, protocolVersion });
  }

  /** Messages go out in the order in which they came, also while the connection is being opened. */
  #askOwn(session: Session, request: Message, responder: Responder, tries = 1): void {
    void this.#ownConnection(session)
      .then(({ connection }) => this.#send(connection, session, request, responder, tries))
      .catch((error: unknown) =>
        answerError(responder, idText(request), errorCodes.serverError, messageOf(error)),
      );
  }

  #send(
    connection: ServerConnection,
    session: Session,
    request: Message,
    responder: Responder,
    tries: number,
  ): void {
    const { processes, sharing } = this.#options;
    const sign = connection.isOpen ? signOf(request, connection.identity) : undefined;
    // The request must not set up anything for the other sessions of the process.
    const isMoved = sign !== undefined && processes.separate(session, sign);
    // Another client may have needed the place before the request was sent.
    if (isMoved || (!connection.isOpen && tries < maxTries))
      this.#askOwn(session, request, responder, tries + 1);
    else if (this.#remember(session, request, responder))
      connection.ask(request, sharing.checked(request, responder), session);
  }

  #ownConnection(session: Session): Promise<OwnConnection> {
    if (session.own !== undefined) return session.own;
    const own = this.#openConnection(session);
    session.own = own;
    own.catch(() => {
      if (session.own === own) session.own = undefined;
    });
    return own;
  }

  async #openConnection(session: Session): Promise<OwnConnection> {
    const shared = await this.#options.processes.join(session);
    if (shared !== undefined) return shared;
    const owner: ConnectionOwner = {
      notified: (notification, call) =>
        call === undefined || isChange(notification)
          ? session.notify(notification)
          : call.responder.notify(notification),
      asked: (connection, request, call) => session.ask(connection, request, call),
      renewed: (connection) => restore(session, connection),
      lost: () => (session.own = undefined),
    };
    const own = await this.#options.pool.take(owner, session.client);
    restore(session, own.connection);
    return own;
  }

  #askShared(session: Session, request: Message, responder: Responder, connection: ServerConnection): void {
    const { subscriptions, sharing, tasks } = this.#options;
    const { method, params } = request.value;
    const uri = params?.['uri'];
    const confirm = (): void => answerResult(responder, idText(request), {});
    if (connection.generation === 'modern') {
      if (method === 'tools/call') return tasks.call({ connection, session, request, responder });
      if (isAboutTasks(method)) return tasks.request({ connection, session, request, responder });
      if (method === undefined || !legacyOnlyMethods.has(method))
        return askModern(connection, session, request, responder);
      if (!this.#remember(session, request, responder)) return;
      subscriptions.update();
      return confirm();
    }
    // A server takes all clients of a shared connection for one, and would show each the tasks of the others.
    if (isAboutTasks(method)) return answerUnknown(request, responder);
    if (!this.#remember(session, request, responder)) return;
    if (method === 'resources/unsubscribe' && typeof uri === 'string') {
      // The server knows a single subscriber, which stays subscribed while another client wants the resource.
      if (subscriptions.isWanted(uri)) return confirm();
      subscriptions.wasRequested(uri, false);
    }
    if (method === 'resources/subscribe' && typeof uri === 'string') subscriptions.wasRequested(uri, true);
    connection.ask(request, sharing.checked(request, responder), session);
  }

  /** Remembers the state to restore after a server restart. Answers with an error if the state exceeds the limits. */
  #remember(session: Session, request: Message, responder: Responder): boolean {
    const { method, params } = request.value;
    const uri = params?.['uri'];
    const level = params?.['level'];
    if (method === 'resources/subscribe' && typeof uri === 'string') {
      if (session.subscriptions.size >= maxUris && !session.subscriptions.has(uri)) {
        const why = `a session may subscribe to at most ${maxUris} resources`;
        answerError(responder, idText(request), errorCodes.invalidParams, why);
        return false;
      }
      session.subscriptions.add(uri);
    }
    if (method === 'resources/unsubscribe' && typeof uri === 'string') session.subscriptions.delete(uri);
    if (method === 'logging/setLevel' && typeof level === 'string') session.logLevel = level;
    if (setupMethods.has(method)) session.recordSetup();
    return true;
  }
}

/** The requests that change the settings of a session. */
const setupMethods: ReadonlySet<string | undefined> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
]);

/** An earlier connection may have been lost, with everything that the session had set up there. */
function restore({ subscriptions, logLevel: level }: Session, connection: ServerConnection): void {
  for (const uri of subscriptions) connection.request('resources/subscribe', { uri }).catch(() => {});
  if (level !== undefined) connection.request('logging/setLevel', { level }).catch(() => {});
}

function isChange(notification: Message): boolean {
  return isListChange(notification) || notification.value.method === 'notifications/resources/updated';
}
