import { PassingMap } from '@toolhive/contract/passing';
import { errorCodes, written } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Responder } from './responder.ts';

/** How many requests a server may leave unanswered before further ones are refused, in total and of one caller. */
const maxCalls = 1000;
const maxCallsOfCaller = 100;
/** How long a request waits at least before another one may take its place. */
const protectedMs = 60_000;

const numeric = /^\d{1,15}$/;

/** A request that the server has not answered yet. */
export interface Call {
  /** The ID that the server knows, which is also the progress token. */
  readonly id: number;
  /** The request with the client's ID. A request that resumes a parked call replaces it. */
  request: Message;
  /** The owner of the call, compared by identity. */
  readonly caller: unknown;
  responder: Responder;
  /** The capability that the server asked for in the course of the call, although the client has not declared it. */
  missing?: string;
  readonly sinceMs: number;
}

/** The requests of one connection that the server has not answered yet, in the order in which they were sent. */
export class Calls {
  readonly #calls = new PassingMap<number, Call>();
  readonly #abandonedSince = new Map<number, number>();
  #lastId = 0;
  #hasNotified = false;
  lastUsedMs: number = performance.now();

  get size(): number {
    return this.#calls.size;
  }

  /** A client is connected that waits for an answer. */
  get areAwaited(): boolean {
    return this.#calls.values().some(({ responder }) => responder.isAbandoned !== true);
  }

  /** The only call, if there is exactly one. */
  get only(): Call | undefined {
    return this.#calls.size === 1 ? this.#calls.values().next().value : undefined;
  }

  /** The only call that fulfills a condition, if there is exactly one. */
  onlyWhere(condition: (call: Call) => boolean): Call | undefined {
    const [first, second] = this.#calls.values().filter(condition).take(2);
    return second === undefined ? first : undefined;
  }

  enter(request: Message, responder: Responder, caller: unknown): Call {
    const call = { id: ++this.#lastId, request, caller, responder, sinceMs: performance.now() };
    this.#calls.set(call.id, call);
    this.lastUsedMs = call.sinceMs;
    return call;
  }

  /** IDs are numbers here, which some servers write as text. */
  get(id: unknown): Call | undefined {
    if (typeof id === 'string') return numeric.test(id) ? this.#calls.get(Number(id)) : undefined;
    return typeof id === 'number' ? this.#calls.get(id) : undefined;
  }

  /**
   * Returns the only call, if a server that could not read a request must mean it. Some servers refuse notifications as
   * invalid requests, so one that was sent since the last answer may be meant as well.
   */
  unread(code: number): Call | undefined {
    return code === errorCodes.parseError || !this.#hasNotified ? this.only : undefined;
  }

  /** Remembers that the server gets a notification. */
  noted(notification: Message): Message {
    this.#hasNotified = true;
    return notification;
  }

  /** Returns false if the call was already answered or abandoned. */
  delete({ id }: Call): boolean {
    this.#hasNotified = false;
    if (this.#abandonedSince.size > 0) this.#abandonedSince.delete(id);
    this.lastUsedMs = performance.now();
    return this.#calls.delete(id);
  }

  /** Removes and returns all of them. */
  clear(): Call[] {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#abandonedSince.clear();
    return calls;
  }

  of(caller: unknown): Call[] {
    return this.#calls
      .values()
      .filter((call) => call.caller === caller)
      .toArray();
  }

  /** Returns a caller's call by the ID that the client chose. */
  find(caller: unknown, originalId: unknown): Call | undefined {
    return this.#calls
      .values()
      .find((call) => call.caller === caller && call.request.value.id === originalId);
  }

  /** Returns why a caller may not add a call, or which call must be refused to make room. */
  roomFor(caller: unknown): { excess: string } | { refuse: Call | undefined } {
    if (
      caller !== undefined &&
      this.#calls.size >= maxCallsOfCaller &&
      this.of(caller).length >= maxCallsOfCaller
    )
      return {
        excess: `more than ${maxCallsOfCaller} requests of this session are not answered yet, try again later`,
      };
    if (this.#calls.size < maxCalls) return { refuse: undefined };
    const replaceable = this.#replaceable();
    return replaceable === undefined
      ? { excess: 'too many requests are not answered yet, try again later' }
      : { refuse: replaceable };
  }

  /** Returns the calls whose clients have been disconnected for this long. */
  abandonedFor(ms: number): Call[] {
    const nowMs = performance.now();
    const abandoned: Call[] = [];
    for (const call of this.#calls.values()) {
      const sinceMs = this.#abandonedSince.get(call.id);
      if (call.responder.isAbandoned !== true) this.#abandonedSince.delete(call.id);
      else if (sinceMs === undefined) this.#abandonedSince.set(call.id, nowMs);
      else if (nowMs - sinceMs >= ms) abandoned.push(call);
    }
    return abandoned;
  }

  /** A call that no client waits for. Otherwise the oldest call, if it has waited long enough. */
  #replaceable(): Call | undefined {
    const abandoned = this.#calls.values().find(({ responder }) => responder.isAbandoned === true);
    const [oldest] = this.#calls.values();
    if (abandoned !== undefined || oldest === undefined) return abandoned;
    return performance.now() - oldest.sinceMs < protectedMs ? undefined : oldest;
  }
}

/** Returns the client's progress token for a call as JSON text, if the request has one. */
export function tokenOf({ request }: Call): string | undefined {
  return request.token === undefined ? undefined : written(request, request.token);
}
