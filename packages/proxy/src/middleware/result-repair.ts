import { printable } from '@toolhive/contract/printable';
import type { WorkloadInput } from '../input/workload-input.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  isObject,
  membersOf,
  readMessage,
  replaceAt,
  resultMessage,
  spanOf,
  withResult,
} from '../jsonrpc/message.ts';
import type { Message, Span } from '../jsonrpc/message.ts';
import { oncePerAnswer } from '../jsonrpc/repeated-answers.ts';
import { cacheableMethods, isModern } from '../protocol/protocol.ts';
import { readableParams } from '../repair/params.ts';
import { listedThings, readableResult } from '../repair/results.ts';
import type { ListedThings } from '../repair/results.ts';
import { Unreadable, kindOf, repaired, withChanges } from '../repair/shapes.ts';
import { writeRepaired } from '../repair/text.ts';
import type { CallContext, Middleware } from './middleware.ts';

export interface ResultRepairOptions {
  /** Whether results that clients refuse are made readable. */
  repairsResults?: boolean | undefined;
  /** Collects the mistakes of the server. */
  input: Pick<WorkloadInput, 'tolerate'>;
}

/**
 * Makes the results of a server readable for clients, which otherwise refuse a whole list because of one thing in it. Does the same for the
 * requests and notifications of a server.
 */
export function resultRepair({ repairsResults, input }: ResultRepairOptions): Middleware | undefined {
  return repairsResults === true ? new ResultRepair(input) : undefined;
}

class ResultRepair implements Middleware {
  readonly #input: Pick<WorkloadInput, 'tolerate'>;
  /** The repairs of lists, by method. A list that is the same as before is not looked at again. */
  readonly #lists = new Map<string, (answer: Message) => Message>();
  /** Refuses nothing, so messages that cannot be read may pass. */
  readonly isObserver = true;

  constructor(input: Pick<WorkloadInput, 'tolerate'>) {
    this.#input = input;
    for (const method of Object.keys(listedThings))
      this.#lists.set(
        method,
        oncePerAnswer((answer) => this.#readable(answer, method)),
      );
  }

  readonly message = (context: CallContext): Message => {
    const { direction, message, request } = context;
    const method = request?.value.method;
    if (direction === 'to server') return message;
    if (message.kind !== 'response') return this.#readableParams(message);
    return method === undefined
      ? message
      : this.#readableResponse(context, this.#withoutOthers(message), method);
  };

  #readableResponse({ request, client }: CallContext, message: Message, method: string): Message {
    const { error, result } = message.value;
    if (error !== undefined) return this.#readableError(message, error);
    if (!isObject(result) && isModern(client.protocolVersion))
      return this.#readable(message, method, request?.value.params, modernMembers(method));
    const list = this.#lists.get(method);
    if (list === undefined) return this.#readable(message, method, request?.value.params);
    return this.#endingList(list(message), request?.value.params?.['cursor']);
  }

  /** Clients refuse a response with other members. */
  #withoutOthers(response: Message): Message {
    const others = Object.keys(response.value).filter((name) => !responseMembers.has(name));
    if (others.length === 0) return response;
    this.#input.tolerate(
      'wrongValue',
      `the member ${JSON.stringify(printable(others.join().slice(0, maxShown)))} of a response`,
    );
    const kept = membersOf(response.text).filter(([name]) => responseMembers.has(name));
    const text = `{${kept.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
    return { ...readMessage(text), ...(response.http === undefined ? {} : { http: response.http }) };
  }

  /** A page that names itself as the next one would be read without end. */
  #endingList(answer: Message, cursor: unknown): Message {
    const { result } = answer.value;
    if (typeof cursor !== 'string' || !isObject(result) || result['nextCursor'] !== cursor) return answer;
    this.#input.tolerate('cursor');
    return withReadable(answer, result, withChanges(result, new Map([['nextCursor', undefined]])));
  }

  #readable(
    answer: Message,
    method: string,
    params: Record<string, unknown> = {},
    added: Record<string, unknown> = {},
  ): Message {
    const { result } = answer.value;
    const after = readableResult(method, result, params);
    if (after === result || !isObject(after)) return answer;
    const whole = { ...after, ...added };
    this.#report(method, result, after);
    return withReadable(answer, result, whole);
  }

  /** The request or notification of a server. */
  #readableParams(message: Message): Message {
    const { method = '', params } = message.value;
    if (!isObject(params)) return message;
    const after = readableParams(method, params);
    const span = after === params ? undefined : spanOf(message.text, ['params']);
    if (span === undefined) return message;
    for (const name of changedIn(params, after))
      this.#input.tolerate('wrongValue', `${wrongIn(name, params[name])} of ${method}`);
    return readMessage(
      replaceAt(message.text, span, writeRepaired(after, params, message.text.slice(...span))),
    );
  }

  #readableError(
    answer: Message,
    { code, message, data }: { code: unknown; message: unknown; data?: unknown },
  ): Message {
    if (Number.isInteger(code) && typeof message === 'string') return answer;
    this.#input.tolerate('wrongValue', 'an error without a code or without a message');
    const number = code === null ? Number.NaN : Number(code);
    const said =
      typeof message === 'string' ? message : (JSON.stringify(message) ?? 'the server gives no reason');
    return errorMessage(
      idText(answer),
      Number.isInteger(number) ? number : errorCodes.serverError,
      said,
      data as object | undefined, // any JSON value is passed on
    );
  }

  #report(method: string, before: unknown, after: Record<string, unknown>): void {
    if (!isObject(before))
      return this.#input.tolerate('wrongValue', `${kindOf(before)} as the result of ${method}`);
    const things = Object.hasOwn(listedThings, method) ? listedThings[method] : undefined;
    for (const name of changedIn(before, after)) {
      const value = before[name];
      if (name === things?.member && Array.isArray(value)) this.#reportThings(things, value);
      else this.#input.tolerate('wrongValue', `${wrongIn(name, value)} in the result of ${method}`);
    }
  }

  #reportThings({ item, kind, key }: ListedThings, all: readonly unknown[]): void {
    const repair = item();
    for (const one of all) {
      const after = repaired(one, repair);
      if (after === one) continue;
      const named = `the ${kind.replace('-', ' ')} ${nameOf(one, key)}`;
      if (after instanceof Unreadable)
        this.#input.tolerate('unreadable', `${named}, because ${after.reason}`);
      else if (isObject(one) && isObject(after))
        for (const name of changedIn(one, after)) {
          if (name === 'inputSchema') this.#input.tolerate('schema', named);
          else this.#input.tolerate('wrongValue', `${wrongIn(name, one[name])} of ${named}`);
        }
    }
  }
}

const maxShown = 100;
const responseMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'result', 'error']);

function nameOf(thing: unknown, key: string): string {
  const name = isObject(thing) ? thing[key] : undefined;
  return typeof name === 'string' ? JSON.stringify(printable(name.slice(0, maxShown))) : 'without a name';
}

function changedIn(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => before[name] !== after[name],
  );
}

/** Names a member with its value. An object or a list has a part that is wrong. */
function wrongIn(name: string, value: unknown): string {
  if (value === undefined) return `no ${name}`;
  return typeof value === 'object' && value !== null ? `a part of ${name}` : `${kindOf(value)} as ${name}`;
}

/** The members that clients of 2026-07-28 expect in every result. */
function modernMembers(method: string): Record<string, unknown> {
  return {
    resultType: 'complete',
    ...(cacheableMethods.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {}),
  };
}

/** Returns the answer with another result. Parts that are the same keep their text. */
export function withReadable(answer: Message, before: unknown, after: Record<string, unknown>): Message {
  const span = resultSpanOf(answer.text);
  if (span === undefined) return resultMessage(idText(answer), after);
  const replacement = writeRepaired(after, before, answer.text.slice(...span));
  return withResult(answer, after, { span, replacement });
}

/** Undefined if the answer has two results. */
function resultSpanOf(text: string): Span | undefined {
  try {
    return spanOf(text, ['result']);
  } catch {
    return undefined;
  }
}
