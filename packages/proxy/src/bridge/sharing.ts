import { raiseFault } from '@toolhive/contract/fault';
import type { ServerConnection } from '../connection/connection.ts';
import { withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';
import type { Limits } from './limits.ts';
import { listTools, toolsIn } from './tool-list.ts';
import type { ListedTool } from './tool-list.ts';

/** The signs of a server that keeps something for each session, as phrases that continue "because". */
const signs = {
  asked: 'the server asked its client for input',
  subscribed: 'a client subscribed to a resource',
  changed: 'the server changed its lists',
  level: 'a client chose a log level',
  forgotten: 'its earlier runs are unknown',
} as const;
export type StateSign = keyof typeof signs;

function isStateSign(text: string): text is StateSign {
  return Object.hasOwn(signs, text);
}

/** The memory of earlier runs of a server. Another version is another server. */
export interface KnownState {
  /** Returns the first sign that was seen of a version, as it was given to `seen`. */
  signOf: (version: string) => string | undefined;
  /** Takes the first sign. */
  seen: (version: string, sign: StateSign) => void;
}

export interface SharingOptions {
  /**
   * `shared`: all clients use one process. `own`: each legacy client has a process, and its changes in the server
   * affect only its session. `auto`: as `own`, but sessions share processes while the server is known to keep nothing
   * for a session.
   */
  sessions: 'auto' | 'own' | 'shared';
  /** The memory for `auto`. By default, earlier runs are unknown. */
  knownState?: KnownState | undefined;
  /** Several people may be the same principal, because nothing tells them apart. */
  isPublic?: boolean | undefined;
  limits: Pick<Limits, 'decideMs'>;
}

type Verdict = { kind: 'undecided' } | { kind: 'together' } | { kind: 'separate'; why: string };

/** A server with more tools has separate processes. */
const maxTools = 1_000;

/**
 * Decides whether sessions share processes. The annotations of a server are a claim, so sessions share a process only
 * on the claim that all tools are read-only, only with sessions of the same principal, and only until a message shows
 * the opposite. See decision 86.
 */
export class Sharing {
  readonly #options: SharingOptions;
  #verdict: Verdict = { kind: 'undecided' };
  #deciding: Promise<void> = Promise.resolve();
  #connection: ServerConnection | undefined;
  /** The names of the tools that the decision is based on. */
  readonly #tools = new Set<string>();
  #version: string | undefined;
  #sign: StateSign | undefined;

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /** Whether clients may have connections that not all others use. */
  get mayBeSeparate(): boolean {
    return this.#options.sessions !== 'shared';
  }

  /** Whether sessions of the same principal and kind of client share a process. False until that is decided. */
  get isTogether(): boolean {
    return this.#verdict.kind === 'together';
  }

  /** The choice and its reason, for the user. */
  get description(): string {
    const { sessions } = this.#options;
    if (sessions === 'shared') return 'one process for all sessions, because its settings say so';
    if (sessions === 'own') return 'a process for each session, because its settings say so';
    const { kind } = this.#verdict;
    if (kind === 'together') return 'sessions share a process, because all its tools are read-only';
    const why = kind === 'undecided' ? 'it has not listed its tools yet' : this.#verdict.why;
    return `a process for each session, because ${why}`;
  }

  /** Decides again for a server that has started. */
  decide(connection: ServerConnection, version = ''): void {
    if (this.#options.sessions !== 'auto') return;
    this.#connection = connection;
    if (version !== this.#version) this.#sign = this.#knownSign(version);
    this.#version = version;
    this.#tools.clear();
    this.#verdict = { kind: 'undecided' };
    this.#deciding = this.#decide(connection);
    this.#deciding.catch(raiseFault);
  }

  /** Returns when it is decided, or cannot be soon. */
  decided(): Promise<void> {
    return this.#deciding;
  }

  /** Examines the list for another kind of client. Returns whether its sessions may share the process. */
  async admits(connection: ServerConnection): Promise<boolean> {
    const why = await this.#examine(connection);
    // Nothing is known of a process that has ended.
    if (why !== undefined && this.isTogether && connection.isOpen) this.#verdict = { kind: 'separate', why };
    return this.isTogether;
  }

  /** Learns that the server keeps something for a session. New sessions have separate processes from then on. */
  learn(sign: StateSign): void {
    const { sessions, knownState } = this.#options;
    if (sessions !== 'auto' || this.#verdict.kind === 'separate') return;
    this.#sign = sign;
    this.#verdict = { kind: 'separate', why: signs[sign] };
    knownState?.seen(this.#version ?? '', sign);
  }

  #knownSign(version: string): StateSign | undefined {
    const sign = this.#options.knownState?.signOf(version);
    return sign !== undefined && isStateSign(sign) ? sign : undefined;
  }

  /** Compares an answer to `tools/list` with the list that the decision is based on, before the client gets it. */
  checked(request: Message, responder: Responder): Responder {
    if (!this.isTogether || request.value.method !== 'tools/list') return responder;
    const isKnown = (tool: ListedTool): boolean => this.#tools.has(tool.name) && isReadOnly(tool);
    return withAnswer(responder, (answer) => {
      if (!toolsIn(answer.value.result).every(isKnown)) this.learn('changed');
      responder.answer(answer);
    });
  }

  async #decide(connection: ServerConnection): Promise<void> {
    const why = await this.#examine(connection);
    if (this.#connection !== connection || this.#verdict.kind !== 'undecided') return;
    this.#verdict = why === undefined ? { kind: 'together' } : { kind: 'separate', why };
  }

  /** Returns why sessions must not share a process, if anything speaks against it. */
  async #examine(connection: ServerConnection): Promise<string | undefined> {
    if (this.#sign !== undefined) return signs[this.#sign];
    if (this.#options.isPublic === true) return 'nothing tells its users apart';
    if (connection.identity.capabilities['tasks'] !== undefined) return 'it runs tasks for its clients';
    let listed: Awaited<ReturnType<typeof listTools>>;
    try {
      listed = await listTools(connection, AbortSignal.timeout(this.#options.limits.decideMs));
    } catch {
      return 'it has not listed its tools';
    }
    const { tools, isWhole } = listed;
    if (!isWhole || tools.length > maxTools) return 'it has too many tools';
    if (tools.length === 0) return 'it has no tools';
    if (!tools.every(isReadOnly)) return 'not all its tools are read-only';
    for (const { name } of tools) this.#tools.add(name);
    return undefined;
  }
}

function isReadOnly({ annotations }: ListedTool): boolean {
  return isObject(annotations) && annotations['readOnlyHint'] === true;
}

/** The sign in a client's request, if the server accepts such requests. */
export function signOf(
  { value: { method } }: Message,
  { capabilities }: Pick<ServerIdentity, 'capabilities'>,
): StateSign | undefined {
  if (method === 'logging/setLevel' && capabilities['logging'] !== undefined) return 'level';
  const { resources } = capabilities;
  const isOffered = isObject(resources) && resources['subscribe'] === true;
  return method === 'resources/subscribe' && isOffered ? 'subscribed' : undefined;
}
