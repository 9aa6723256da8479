import { hash } from 'node:crypto';
import { requireUnambiguous } from '../jsonrpc/ambiguity.ts';
import { errorCodes, idText, isObject, resultMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { digestOf } from '../jsonrpc/repeated-answers.ts';
import { extensionRequests, usesOfExtensions } from '../protocol/extensions.ts';
import { askableBy } from '../protocol/protocol.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome } from './middleware.ts';

/** What a server says about itself that models read. */
export type PinnedKind = 'instructions' | 'tool' | 'prompt' | 'resource' | 'resource-template' | 'skill';

/** One answer of a server that lists items of one kind, or contains its instructions. */
export interface Listing {
  kind: PinnedKind;
  /** The items with their names. An item without a name has none that can be recorded. */
  items: readonly ListedItem[];
  /** The client's cursor, if the client asked for a further page. */
  cursor: string | undefined;
  /** The cursor of the next page, if there is one. */
  nextCursor: string | undefined;
  /** The names of the client's capabilities that a list can depend on. */
  capabilities: string;
  /** The client's session, if any. Cursors of different sessions are unrelated. */
  session: string | undefined;
  /** The answer contains one item of a list only. */
  isPart?: boolean;
}

export interface ListedItem {
  name: string | undefined;
  content: unknown;
}

export interface Review {
  /** What clients see of each item: the item itself, the version that was approved, or nothing. */
  shown: readonly unknown[];
  /** Whether the same answer needs no review as long as `version` stays the same. */
  isSettled: boolean;
}

/** The recorded items of one server, and the items that its clients may list and use. */
export interface Pins {
  /** Changes when the result of a review could be another one than before. */
  readonly version: number;
  /** Compares a server answer with the records, and records new items. */
  review: (listing: Listing) => Promise<Review>;
  /** Whether clients are kept from anything. Otherwise changes are only reported. */
  readonly isEnforced: boolean;
  /** Why clients may not use an item. Undefined if they may. */
  refusalOf: (kind: PinnedKind, name: string) => string | undefined;
  /** The annotations of a tool that the user has approved. A later change by the server makes no difference. */
  annotationsOf: (tool: string) => Readonly<Record<string, unknown>> | undefined;
  /**
   * Compares a file that a client has read with the digests of the skill that the file belongs to (SEP-2640). `digestsOf` returns
   * the SHA-256 hashes of all contents in the answer, in hexadecimal digits. Returns why the client may not get the file.
   */
  refusalOfFile: (uri: string, digestsOf: () => readonly string[]) => string | undefined;
  /** The resources and templates in the server's latest lists. */
  listedResources: () => readonly string[];
}

interface List {
  kind: PinnedKind;
  /** The member of the result that contains the items, or the only item. */
  member: string;
  /** The member that identifies an item. */
  key: string;
}

/** The results of extensions that pins compare. */
const ofExtensions = [...extensionRequests].flatMap(([method, { pinned }]) =>
  pinned === undefined ? [] : [{ method, ...pinned, key: pinned.name }],
);

/** The answers that are reviewed, by the method of their request. */
export const lists: Readonly<Record<string, List>> = {
  'tools/list': { kind: 'tool', member: 'tools', key: 'name' },
  'prompts/list': { kind: 'prompt', member: 'prompts', key: 'name' },
  'resources/list': { kind: 'resource', member: 'resources', key: 'uri' },
  'resources/templates/list': { kind: 'resource-template', member: 'resourceTemplates', key: 'uriTemplate' },
  ...listsBy(ofExtensions.filter(({ isList }) => isList)),
};

/** The answers with one item of a list. */
const entries = listsBy(ofExtensions.filter(({ isList }) => !isList));

function listsBy(results: readonly (List & { method: string })[]): Readonly<Record<string, List>> {
  return Object.fromEntries(results.map(({ method, kind, member, key }) => [method, { kind, member, key }]));
}

/** The answers that contain the instructions of the server. */
export const greetings: ReadonlySet<string> = new Set(['initialize', 'server/discover']);

/** The requests that use an item, and the parameter that names the item. */
const uses: Readonly<Record<string, { kind: PinnedKind; parameter: string }>> = {
  'tools/call': { kind: 'tool', parameter: 'name' },
  'prompts/get': { kind: 'prompt', parameter: 'name' },
  'resources/read': { kind: 'resource', parameter: 'uri' },
  'resources/subscribe': { kind: 'resource', parameter: 'uri' },
  ...usesOfExtensions,
};

/** How many answers are remembered that need no review. */
const maxSettled = 16;

/**
 * Compares a server's tools with the definitions that the user approved. Undefined if nothing is recorded for the
 * server.
 */
export function toolPinning({ pins }: { pins?: Pins | undefined }): Middleware | undefined {
  return pins === undefined ? undefined : new ToolPinning(pins);
}

class ToolPinning implements Middleware {
  readonly #pins: Pins;
  /** The hashes of answers that need no review as long as the version of the pins is this one. */
  readonly #settled = new Set<string>();
  #version: number;

  constructor(pins: Pins) {
    this.#pins = pins;
    this.#version = pins.version;
  }

  get isObserver(): boolean {
    return !this.#pins.isEnforced;
  }

  readonly message = (context: CallContext): Outcome | Promise<Outcome> => {
    const { direction, message, request } = context;
    if (direction === 'to server') return this.#use(message);
    const method = request?.value.method;
    if (message.kind !== 'response' || method === undefined) return message;
    const { result } = message.value;
    if (!isObject(result)) return message;
    if (method === 'resources/read') return this.#compareFile(message, request, result);
    const entry = Object.hasOwn(entries, method) ? entries[method] : undefined;
    if (entry !== undefined) return this.#reviewEntry(context, entry, result);
    const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
    if (list === undefined && !greetings.has(method)) return message;
    if (this.#isSettled(message, list?.member)) return message;
    return list === undefined
      ? this.#reviewInstructions(message, result)
      : this.#reviewList(context, list, result);
  };

  #use(message: Message): Outcome {
    const { method = '', params } = message.value;
    const use = Object.hasOwn(uses, method) ? uses[method] : undefined;
    const name = use === undefined ? undefined : params?.[use.parameter];
    if (use === undefined || typeof name !== 'string') return message;
    const reason = this.#pins.refusalOf(use.kind, name);
    return reason === undefined ? message : refusal(errorCodes.invalidParams, reason);
  }

  async #reviewList(
    { message, request, session, client }: CallContext,
    { kind, member, key }: List,
    result: Record<string, unknown>,
  ): Promise<Message> {
    const listed = Array.isArray(result[member]) ? (result[member] as unknown[]) : [];
    const items = listed.map((content) => ({ name: textAt(content, key), content }));
    const { version } = this.#pins;
    const { shown, isSettled } = await this.#pins.review({
      kind,
      items,
      cursor: textAt(request?.value.params, 'cursor'),
      nextCursor: textAt(result, 'nextCursor'),
      capabilities: askableBy(client),
      session,
    });
    const isSame = shown.every((item, index) => item === listed[index]) && isReadOneWay(message, member);
    if (isSame && isSettled) this.#settle(message, member, version);
    if (isSame) return message;
    return this.#rewritten(message, result, member, { [member]: shown.filter((item) => item !== undefined) });
  }

  async #reviewEntry(
    { message, request, session, client }: CallContext,
    { kind, member, key }: List,
    result: Record<string, unknown>,
  ): Promise<Outcome> {
    const content = result[member];
    const name = textAt(content, key);
    const { shown } = await this.#pins.review({
      kind,
      items: [{ name, content }],
      cursor: undefined,
      nextCursor: undefined,
      capabilities: askableBy(client),
      session,
      isPart: true,
    });
    if (shown[0] === content && isReadOneWay(message, member)) return message;
    if (shown[0] !== undefined) return this.#rewritten(message, result, member, { [member]: shown[0] });
    const asked = textAt(request?.value.params, key) ?? '';
    const reason =
      this.#pins.refusalOf(kind, name ?? asked) ?? `the ${kind} ${JSON.stringify(asked)} cannot be compared`;
    return refusal(errorCodes.invalidParams, reason);
  }

  /** Compares a file of a skill with its digest. Several contents are one file of which none may differ. */
  #compareFile(message: Message, request: Message | undefined, result: Record<string, unknown>): Outcome {
    const uri = textAt(request?.value.params, 'uri');
    if (uri === undefined) return message;
    const contents = Array.isArray(result['contents']) ? (result['contents'] as unknown[]) : [];
    const reason = this.#pins.refusalOfFile(uri, () => contents.map(digestOfContent));
    if (reason !== undefined) return refusal(errorCodes.invalidParams, reason);
    return message;
  }

  async #reviewInstructions(message: Message, result: Record<string, unknown>): Promise<Message> {
    const { instructions } = result;
    const isThere = instructions !== undefined && instructions !== null;
    const items = isThere ? [{ name: '', content: instructions }] : [];
    const { version } = this.#pins;
    const { shown, isSettled } = await this.#pins.review({
      kind: 'instructions',
      items,
      cursor: undefined,
      nextCursor: undefined,
      capabilities: '', // a server describes itself before it knows its client, or for all of them
      session: undefined,
    });
    const isSame = shown[0] === items[0]?.content && isReadOneWay(message, 'instructions');
    if (isSame && isSettled) this.#settle(message, undefined, version);
    if (isSame) return message;
    const replaced = shown[0] === undefined ? {} : { instructions: shown[0] };
    return this.#rewritten(message, result, 'instructions', replaced);
  }

  /** Rebuilt, so that clients read only the reviewed list. */
  #rewritten(
    message: Message,
    result: Record<string, unknown>,
    member: string,
    replaced: Record<string, unknown>,
  ): Message {
    const others = Object.entries(result).filter(([name]) => name.toLowerCase() !== member.toLowerCase());
    return resultMessage(idText(message), { ...Object.fromEntries(others), ...replaced });
  }

  #isSettled(message: Message, member: string | undefined): boolean {
    if (this.#version !== this.#pins.version) {
      this.#settled.clear();
      this.#version = this.#pins.version;
    }
    return this.#settled.size > 0 && this.#settled.has(reviewOf(message, member));
  }

  #settle(message: Message, member: string | undefined, version: number): void {
    if (version !== this.#pins.version || version !== this.#version) return; // reviewed against earlier pins
    const [oldest] = this.#settled;
    if (this.#settled.size >= maxSettled && oldest !== undefined) this.#settled.delete(oldest);
    this.#settled.add(reviewOf(message, member));
  }
}

/** What was reviewed, and for which purpose, because the same text could answer several requests. */
function reviewOf(message: Message, member: string | undefined): string {
  return `${digestOf(message)} ${member ?? ''}`;
}

/** The SHA-256 hash of the bytes of a file. Empty for a content without any. */
function digestOfContent(content: unknown): string {
  const text = textAt(content, 'text');
  const blob = textAt(content, 'blob');
  if ((text === undefined) === (blob === undefined)) return '';
  return hash('sha256', text ?? Buffer.from(blob ?? '', 'base64'));
}

/** Whether every reader finds the same items in an answer: some take the first of two members, or ignore case. */
function isReadOneWay({ text, value }: Message, member: string): boolean {
  const names = isObject(value.result) ? Object.keys(value.result) : [];
  if (names.some((name) => name !== member && name.toLowerCase() === member.toLowerCase())) return false;
  try {
    requireUnambiguous(text);
    return true;
  } catch {
    return false;
  }
}

function textAt(value: unknown, key: string): string | undefined {
  const text = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}
