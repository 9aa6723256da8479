import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealKeys } from '../sealing/seal.ts';
import { isOtherSpelling } from '../jsonrpc/ambiguity.ts';
import {
  MalformedMessage,
  errorCodes,
  idText,
  isObject,
  ownMessage,
  readMessage,
  replaceAt,
  resultMessage,
  spanOf,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { extensionRequests, relatedTask } from '../protocol/extensions.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome, Principal, Refusal } from './middleware.ts';
import type { Pins } from './tool-pinning.ts';
import { realNames } from './tool-filter.ts';
import type { ToolRules } from './tool-filter.ts';

/** How many tasks are remembered, and how long a call may be that is remembered with its task. */
const maxKnown = 10_000;
const maxCallChars = 4_096;
/** A server's ID of a task that is longer cannot be a part of a header. */
const maxIdChars = 4_096;

/** Where messages contain the ID of one task. */
const places: readonly (readonly string[])[] = [
  ['params', 'taskId'],
  ['params', '_meta', relatedTask, 'taskId'],
  ['result', 'taskId'],
  ['result', 'task', 'taskId'],
  ['result', '_meta', relatedTask, 'taskId'],
];

/** The call that began a task. */
export interface TaskCall {
  /** The server's name of the tool. */
  tool: string;
  /** The call with its arguments. Absent if that was long, or was made before this proxy started. */
  call?: Message | undefined;
}

interface Known extends TaskCall {
  principal: string;
}

export interface TaskOwnersOptions {
  workload?: string | undefined;
  /** Callers are authenticated, so there can be several principals. */
  access?: unknown;
  authorizer?: unknown;
  tools?: ToolRules | undefined;
  pins?: Pins | undefined;
  /** By default, the IDs of tasks are valid until the proxy ends. */
  taskKeys?: SealKeys | undefined;
}

/** Undefined if all callers are the same principal, and no policy covers the calls of tools. */
export function taskOwners(options: TaskOwnersOptions): TaskOwners | undefined {
  const { access, authorizer } = options;
  return access === undefined && authorizer === undefined ? undefined : new TaskOwners(options);
}

/**
 * Tasks belong to the principal whose call began them, in every protocol version. Clients get IDs that are signed for
 * their principal and contain the tool, so that neither other principals nor guessed IDs reach a task, also after a
 * restart. For anyone else, the task is unknown.
 */
export class TaskOwners implements Middleware {
  readonly #workload: string;
  readonly #keys: SealKeys;
  readonly #pins: Pins | undefined;
  readonly #realName: (visible: string) => string;
  /** By session and the server's ID, because two processes may give their tasks the same ID. */
  readonly #known = new Map<string, Known>();

  constructor({ workload = '', taskKeys, pins, tools = {} }: TaskOwnersOptions) {
    const key = randomBytes(32);
    this.#workload = workload;
    this.#keys = taskKeys ?? (() => [key]);
    this.#pins = pins;
    this.#realName = realNames(tools);
  }

  readonly message = (context: CallContext): Outcome => {
    try {
      return context.direction === 'to server' ? this.#toServer(context) : this.#toClient(context);
    } catch (error) {
      // Two readers of such a message could find two different tasks.
      if (error instanceof MalformedMessage) return refusal(errorCodes.serverError, error.message);
      throw error;
    }
  };

  /** Returns the call that began a task, by the server's ID, if the principal may use the task. */
  callOf(
    { session, principal }: Pick<CallContext, 'session' | 'principal'>,
    id: unknown,
  ): TaskCall | undefined {
    const known = typeof id === 'string' ? this.#known.get(keyOf(session, id)) : undefined;
    return known?.principal === principal.id ? known : undefined;
  }

  #toServer(context: CallContext): Outcome {
    const { message } = context;
    const { method = '', params } = message.value;
    const member = message.kind === 'request' ? extensionRequests.get(method)?.task : undefined;
    if (member !== undefined) return this.#request(context, params?.[member]);
    if (method === 'subscriptions/listen') return this.#listen(context);
    // What belongs to a task of the client itself has an ID that is not signed, and stays as it is.
    return this.#replaced(message, (signed) => this.#opened(signed, context)?.id);
  }

  #request(context: CallContext, signed: unknown): Outcome {
    const { message } = context;
    const opened = typeof signed === 'string' ? this.#opened(signed, context) : undefined;
    if (opened === undefined) return unknown;
    const why = this.#pins?.refusalOf('tool', opened.tool);
    if (why !== undefined) return refusal(errorCodes.invalidParams, why);
    return this.#replaced(message, (id) => (id === signed ? opened.id : undefined));
  }

  /** Clients are only told of their own tasks (SEP-2663, Task Status Notifications). */
  #listen(context: CallContext): Outcome {
    const { id, params } = context.message.value;
    const { notifications } = params ?? {};
    if (!isObject(notifications)) return context.message;
    if (Object.keys(notifications).some((name) => isOtherSpelling(name, ['taskIds'])))
      return refusal(errorCodes.invalidParams, 'the parameters of subscriptions/listen are ambiguous');
    const { taskIds: signed, ...others } = notifications;
    if (signed === undefined) return context.message;
    const taskIds = (Array.isArray(signed) ? (signed as unknown[]) : []).flatMap((one) =>
      typeof one === 'string' ? (this.#opened(one, context)?.id ?? []) : [],
    );
    const asked = { ...params, notifications: { ...others, taskIds } };
    return ownMessage({ id, method: 'subscriptions/listen', params: asked });
  }

  #toClient(context: CallContext): Outcome {
    const { message, request } = context;
    const { method, params, result } = message.value;
    const asked = request?.value.method;
    if (message.kind === 'response') {
      if (asked === 'tools/call') return this.#begun(context);
      if (asked === 'tasks/list' && isObject(result)) return this.#list(context, result);
    }
    if (method === 'notifications/tasks/status' || method === 'notifications/tasks')
      if (this.callOf(context, params?.['taskId']) === undefined) return unknown;
    if (method === 'notifications/subscriptions/acknowledged') return this.#acknowledged(context);
    return this.#replaced(message, (id) => this.#signedFor(context, id));
  }

  /** Remembers whose task a call has begun. The server cannot give a task of one principal to another one. */
  #begun(context: CallContext): Outcome {
    const { message, request, principal, session } = context;
    const { result } = message.value;
    const created = isObject(result) ? (isObject(result['task']) ? result['task'] : result) : {};
    const id = created['taskId'];
    const isTask = isObject(result) && (result['resultType'] === 'task' || isObject(result['task']));
    if (isTask && typeof id === 'string') {
      if (id.length > maxIdChars) return refusal(errorCodes.serverError, 'the ID of the task is too long');
      const owner = this.#known.get(keyOf(session, id))?.principal;
      if (owner !== undefined && owner !== principal.id)
        return refusal(errorCodes.serverError, 'the server has given the task the ID of another one');
      const tool = this.#realName(String(request?.value.params?.['name']));
      const call = request !== undefined && request.text.length <= maxCallChars ? request : undefined;
      this.#remember(context, id, { tool, call });
    }
    return this.#replaced(message, (given) => this.#signedFor(context, given));
  }

  #list(context: CallContext, result: Record<string, unknown>): Outcome {
    const listed = Array.isArray(result['tasks']) ? (result['tasks'] as unknown[]) : [];
    const tasks = listed.flatMap((task) => {
      const signed = isObject(task) ? this.#signedFor(context, String(task['taskId'])) : undefined;
      return isObject(task) && signed !== undefined ? [{ ...task, taskId: signed }] : [];
    });
    // Some readers ignore the case of names.
    const others = Object.entries(result).filter(([name]) => !/^tasks$/i.test(name));
    return resultMessage(idText(context.message), { ...Object.fromEntries(others), tasks });
  }

  #acknowledged(context: CallContext): Outcome {
    const { method = '', params } = context.message.value;
    const { notifications } = params ?? {};
    if (!isObject(notifications) || !Array.isArray(notifications['taskIds'])) return context.message;
    const taskIds = (notifications['taskIds'] as unknown[]).flatMap(
      (id) => this.#signedFor(context, String(id)) ?? [],
    );
    return ownMessage({ method, params: { ...params, notifications: { ...notifications, taskIds } } });
  }

  /** Returns the message with other IDs in the places of IDs of tasks, as far as there are others. */
  #replaced(message: Message, other: (id: string) => string | undefined): Message {
    let { text } = message;
    for (const path of places) {
      const given = at(message.value, path);
      const replacement = typeof given === 'string' ? other(given) : undefined;
      if (replacement === undefined) continue;
      const span = spanOf(text, path);
      if (span !== undefined) text = replaceAt(text, span, JSON.stringify(replacement));
    }
    return text === message.text ? message : readMessage(text);
  }

  #remember({ principal, session }: CallContext, id: string, call: TaskCall): void {
    const key = keyOf(session, id);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= maxKnown && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { ...call, principal: principal.id });
  }

  #signedFor(context: CallContext, id: string): string | undefined {
    const known = this.callOf(context, id);
    const [key] = this.#keys();
    if (known === undefined || key === undefined) return undefined;
    const content = JSON.stringify([id, known.tool]);
    const signature = this.#signatureOf(content, context.principal, key).toString('base64url');
    return `${Buffer.from(content).toString('base64url')}.${signature}`;
  }

  /** Returns the server's ID and the tool, if the ID was signed for the principal, and remembers the owner. */
  #opened(signed: string, context: CallContext): { id: string; tool: string } | undefined {
    const { principal, session } = context;
    const [encoded = '', signature = '', ...more] = signed.split('.');
    const content = Buffer.from(encoded, 'base64url').toString();
    const given = Buffer.from(signature, 'base64url');
    const isSigned = this.#keys().some((key) => {
      const expected = this.#signatureOf(content, principal, key);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (!isSigned || more.length > 0) return undefined;
    const [id, tool] = JSON.parse(content) as [string, string]; // written by `#signedFor`
    const known = this.#known.get(keyOf(session, id));
    if (known === undefined) this.#remember(context, id, { tool });
    return known === undefined || known.principal === principal.id ? { id, tool } : undefined;
  }

  #signatureOf(content: string, { id }: Principal, key: Uint8Array): Buffer {
    const signed = JSON.stringify(['owner of a task', this.#workload, id, content]);
    return createHmac('sha256', key).update(signed).digest();
  }
}

/** Everyone who does not own a task gets the same answer as for a task that does not exist. */
const unknown: Refusal = refusal(errorCodes.invalidParams, 'the task is unknown or has expired');

function keyOf(session: string | undefined, id: string): string {
  return `${session ?? ''} ${id}`;
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((part, name) => (isObject(part) ? part[name] : undefined), value);
}
