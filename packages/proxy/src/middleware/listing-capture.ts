import { errorCodes, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { digestOf } from '../jsonrpc/repeated-answers.ts';
import { identityFrom } from '../protocol/protocol.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';
import type { CallContext, Middleware } from './middleware.ts';
import { greetings, lists } from './tool-pinning.ts';
import type { PinnedKind } from './tool-pinning.ts';

/** What a server says about itself when a client connects. */
export interface Greeting {
  protocolVersion: string | undefined;
  server: { name: string; version?: string; title?: string } | undefined;
  capabilities: Record<string, unknown>;
  instructions: string | undefined;
}

/** Receives a server's lists before any rule changes them. Must return immediately. */
export interface ListingSink {
  greeted: (greeting: Greeting) => void;
  /** A whole list of one kind. `isComplete` is false if the server listed more than is kept. */
  listed: (kind: PinnedKind, items: readonly Record<string, unknown>[], isComplete: boolean) => void;
  /** The same list as before. */
  unchanged: (kind: PinnedKind) => void;
}

/** How many items of one list are kept, and how large they may be in total. */
const maxItems = 2_000;
const maxChars = 1024 * 1024;
/** How many lists are followed over their pages at the same time. */
const maxOpen = 16;

interface OpenList {
  items: Record<string, unknown>[];
  chars: number;
  isComplete: boolean;
}

/** Passes a server's lists to a sink. Undefined without a sink. */
export function listingCapture({ listings }: { listings?: ListingSink | undefined }): Middleware | undefined {
  return listings === undefined ? undefined : new ListingCapture(listings);
}

/** The innermost middleware, so that it reads the server's lists before any filter. */
class ListingCapture implements Middleware {
  readonly #sink: ListingSink;
  /** The hashes of the latest answers, by method. */
  readonly #latest = new Map<string, string>();
  /** Lists whose next page a client has not read yet, by session and cursor. */
  readonly #open = new Map<string, OpenList>();
  readonly isObserver = true;
  readonly isPassive = true;

  constructor(sink: ListingSink) {
    this.#sink = sink;
  }

  readonly message = (context: CallContext): Message => {
    const { direction, message, request } = context;
    const method = request?.value.method;
    if (direction === 'to client' && message.kind === 'response' && method !== undefined) {
      const { result, error } = message.value;
      if (greetings.has(method) && isObject(result)) this.#greet(method, message, result);
      else if (Object.hasOwn(lists, method) && isObject(result)) this.#list(method, context, result);
      // Many servers declare resources, but have no method that lists their templates.
      else if (error?.code === errorCodes.methodNotFound && Object.hasOwn(lists, method))
        this.#list(method, context, {});
    }
    return message;
  };

  #greet(method: string, message: Message, result: Record<string, unknown>): void {
    if (!this.#isNew(method, message)) return;
    const identity = readIdentity(result);
    if (identity === undefined) return; // the client detects the error
    const { protocolVersion, capabilities, serverInfo, instructions } = identity;
    this.#sink.greeted({
      protocolVersion: textOf(protocolVersion),
      server: identityOf(serverInfo),
      capabilities,
      instructions: textOf(instructions),
    });
  }

  #list(
    method: string,
    { message, request, session = '' }: CallContext,
    result: Record<string, unknown>,
  ): void {
    const list = lists[method];
    if (list === undefined) return;
    const { kind, member } = list;
    const cursor = textOf(request?.value.params?.['cursor']);
    const following = textOf(result['nextCursor']);
    const next = following === cursor ? undefined : following; // the same page again
    if (cursor === undefined && next === undefined && !this.#isNew(method, message))
      return this.#sink.unchanged(kind);
    if (cursor === undefined && next !== undefined) this.#latest.delete(method);
    const placeOf = (at: string): string => JSON.stringify([kind, session, at]);
    const before =
      cursor === undefined ? { items: [], chars: 0, isComplete: true } : this.#take(placeOf(cursor));
    if (before === undefined) return; // its first page was not seen
    const all = withItems(before, result[member], message.text.length);
    if (next === undefined) return this.#sink.listed(kind, all.items, all.isComplete);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= maxOpen && oldest !== undefined) this.#open.delete(oldest);
    if (next.length <= 1_000) this.#open.set(placeOf(next), all);
  }

  #take(place: string): OpenList | undefined {
    const open = this.#open.get(place);
    this.#open.delete(place);
    return open;
  }

  /** Whether an answer differs from the latest one to the same method. */
  #isNew(method: string, message: Message): boolean {
    const digest = digestOf(message);
    const isNew = this.#latest.get(method) !== digest;
    this.#latest.set(method, digest);
    return isNew;
  }
}

/** Adds the items of a page, as far as there is room. */
function withItems({ items, chars, isComplete }: OpenList, listed: unknown, size: number): OpenList {
  const found = Array.isArray(listed) ? listed.filter(isObject) : [];
  const fitting = chars + size > maxChars ? startOf(found, maxChars - chars) : { items: found, chars: size };
  const kept = [...items, ...fitting.items].slice(0, maxItems);
  return {
    items: kept,
    chars: chars + fitting.chars,
    isComplete: isComplete && kept.length === items.length + found.length,
  };
}

/** The first items that are not larger than this together. */
function startOf(
  found: readonly Record<string, unknown>[],
  maxSize: number,
): { items: Record<string, unknown>[]; chars: number } {
  const items: Record<string, unknown>[] = [];
  let chars = 0;
  for (const item of found.slice(0, maxItems)) {
    const size = JSON.stringify(item).length;
    if (chars + size > maxSize) break;
    items.push(item);
    chars += size;
  }
  return { items, chars };
}

function readIdentity(result: Record<string, unknown>): ServerIdentity | undefined {
  try {
    return identityFrom(result);
  } catch {
    return undefined;
  }
}

function identityOf(info: unknown): Greeting['server'] {
  if (!isObject(info) || typeof info['name'] !== 'string') return undefined;
  const [version, title] = [textOf(info['version']), textOf(info['title'])];
  return {
    name: info['name'],
    ...(version === undefined ? {} : { version }),
    ...(title === undefined ? {} : { title }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
