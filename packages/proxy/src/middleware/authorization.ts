import { isOtherSpelling } from '../jsonrpc/ambiguity.ts';
import { errorCodes, idText, isObject, resultMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { withExactNumbers } from '../jsonrpc/exact-numbers.ts';
import { hintNames } from '../protocol/hints.ts';
import { extensionNotifications, extensionRequests, isKnownExtension } from '../protocol/extensions.ts';
import type { AccessAction } from '../protocol/extensions.ts';
import { ListedResources } from './listed-resources.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome, Principal, Refusal } from './middleware.ts';
import type { TaskOwners } from './task-owners.ts';
import type { Pins } from './tool-pinning.ts';
import { Turns } from './turns.ts';

export { ListedResources, shortNameOf } from './listed-resources.ts';
export { extensions } from '../protocol/extensions.ts';
export type { AccessAction } from '../protocol/extensions.ts';

/** Whether a principal may do something, as a question to policies. */
export interface AccessQuestion {
  principal: Principal;
  action: AccessAction;
  /** The name of a tool or a prompt, or the URI of a resource or of a skill. */
  target: string;
  /** The arguments of a call. Absent for an item of a list. */
  arguments?: Readonly<Record<string, unknown>> | undefined;
  /** What the server says about a tool (MCP 2025-11-25, ToolAnnotations), as far as that is known and approved. */
  annotations?: Readonly<Record<string, unknown>> | undefined;
  /** The resources that the server has listed, as far as that is known. */
  listed?: ListedResources | undefined;
}

export interface Authorizer {
  /** Whether the arguments of calls count. True by default. */
  readonly readsArguments?: boolean;
  /** Whether the policies allow the request. Every error is a denial. */
  isAllowed(question: AccessQuestion): boolean;
}

/** The error code of a denial, as in the original. */
const deniedCode = 403;
/** How many tools of a server are remembered, and how long their names may be. The others count as those that say nothing. */
const maxKnown = 10_000;
const maxName = 1_000;

type TargetReader = (params: Params, text: string) => Target | undefined;

/** The thing that a request is about, for each method that is governed by policies. */
const governed: ReadonlyMap<string, TargetReader> = new Map<string, TargetReader>([
  ...[...extensionRequests].flatMap(([method, { about }]) =>
    about === undefined
      ? []
      : [[method, (params: Params) => target(about.action, params[about.parameter])] as const],
  ),
  ...Object.entries<TargetReader>({
    'tools/call': (params, text) => target('call_tool', params['name'], argumentsIn(params, text)),
    'prompts/get': (params, text) => target('get_prompt', params['name'], argumentsIn(params, text)),
    'resources/read': (params) => target('read_resource', params['uri']),
    'resources/subscribe': (params) => target('read_resource', params['uri']),
    'completion/complete': (params, text) =>
      isObject(params['ref']) ? completionTarget(params['ref'], params, text) : undefined,
  }),
]);

/** Requests without any server object that a policy could name. */
const free: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'logging/setLevel',
  'resources/unsubscribe',
]);

interface GovernedList {
  member: string;
  action: AccessAction;
  name: string;
}

/** How the items of each list are governed: the member of the result, the action, and the name of an item. */
const lists: ReadonlyMap<string, GovernedList> = new Map<string, GovernedList>([
  ['tools/list', { member: 'tools', action: 'call_tool', name: 'name' }],
  ['prompts/list', { member: 'prompts', action: 'get_prompt', name: 'name' }],
  ['resources/list', { member: 'resources', action: 'read_resource', name: 'uri' }],
  ['resources/templates/list', { member: 'resourceTemplates', action: 'read_resource', name: 'uriTemplate' }],
  ...[...extensionRequests].flatMap(([method, { lists: list }]) =>
    list === undefined ? [] : [[method, list] as const],
  ),
]);

const clientNotifications: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/elicitation/complete',
  ...extensionNotifications,
]);

type Params = Readonly<Record<string, unknown>>;

interface Target {
  action: AccessAction;
  name: string;
  given?: Readonly<Record<string, unknown>> | undefined;
  /** Other values that a server could read. Both must be allowed. */
  orGiven?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Enforces policies in every protocol version. Lists contain only the items that the caller may use. Unknown methods
 * are refused, because no policy could cover them. If `pins` exist, they supply the annotations, so a server cannot
 * circumvent a policy by changing its annotations.
 */
export function authorization({
  authorizer,
  pins,
  tasks,
}: {
  authorizer?: Authorizer | undefined;
  pins?: Pins | undefined;
  /** The calls that have become tasks. */
  tasks?: TaskOwners | undefined;
}): Middleware | undefined {
  return authorizer === undefined ? undefined : new Authorization(authorizer, pins, tasks);
}

class Authorization implements Middleware {
  readonly #authorizer: Authorizer;
  readonly #pins: Pins | undefined;
  /** What the server says about each tool, if its tools are not pinned. */
  readonly #annotations = new Map<string, Readonly<Record<string, unknown>>>();
  /** The resources and templates that the server has listed for any caller. */
  readonly #listed: ListedResources;
  readonly #tasks: TaskOwners | undefined;
  /** Servers write lists of any length, and each thing in them costs several decisions. */
  readonly #turns = new Turns();

  constructor(authorizer: Authorizer, pins: Pins | undefined, tasks: TaskOwners | undefined) {
    this.#authorizer = authorizer;
    this.#pins = pins;
    this.#tasks = tasks;
    this.#listed = new ListedResources(pins?.listedResources());
  }

  readonly message = (context: CallContext): Outcome | Promise<Outcome> => {
    const { direction, message } = context;
    if (message.kind === 'response') return direction === 'to client' ? this.#response(context) : message;
    if (message.kind === 'notification')
      return direction === 'to server'
        ? this.#clientNotification(message)
        : this.#serverNotification(context);
    return direction === 'to server' ? this.#request(context) : message;
  };

  #request(context: CallContext): Outcome | Promise<Outcome> {
    const { message, principal } = context;
    const { method = '', params = {} } = message.value;
    if (free.has(method) || method === 'tasks/list') return message;
    const task = extensionRequests.get(method)?.task;
    if (task !== undefined) return this.#taskRequest(context, params[task]);
    if (method === 'subscriptions/listen') return this.#subscription(message, principal);
    const read = governed.get(method);
    if (read === undefined)
      return lists.has(method)
        ? message
        : refusedFor('unknown_method', `no policy can cover the method ${method}`);
    const asked = read(params, this.#textOf(message));
    if (asked === undefined)
      return refusal(errorCodes.invalidParams, `the parameters of ${method} are invalid`);
    return this.#isAllowed(principal, asked) ? message : denied(described(asked), asked);
  }

  /** A subscription reveals resources to its principal, so the principal must be allowed to read each of them. */
  #subscription(message: Message, principal: Principal): Outcome | Promise<Outcome> {
    const { notifications } = message.value.params ?? {};
    if (isObject(notifications) && hasOtherSpelling(notifications, ['resourceSubscriptions']))
      return refusal(errorCodes.invalidParams, 'the parameters of subscriptions/listen are ambiguous');
    const uris = isObject(notifications) ? (notifications['resourceSubscriptions'] ?? []) : [];
    if (!Array.isArray(uris))
      return refusal(errorCodes.invalidParams, 'resourceSubscriptions must be a list of URIs');
    const refused = this.#turns.find(uris as unknown[], (uri) => {
      const asked = target('read_resource', uri);
      return asked === undefined || !this.#isAllowed(principal, asked);
    });
    return whenKnown(refused, (uri) =>
      uri === undefined ? message : denied(`read_resource ${JSON.stringify(uri)}`),
    );
  }

  /** A notification that is not known could be anything to a server. */
  #clientNotification(message: Message): Outcome {
    return clientNotifications.has(message.value.method ?? '') ? message : denied('this notification');
  }

  #serverNotification({ message, principal }: CallContext): Outcome {
    const { method, params = {} } = message.value;
    if (method !== 'notifications/resources/updated') return message;
    const asked = target('read_resource', params['uri']);
    return asked !== undefined && this.#isAllowed(principal, asked) ? message : denied('this resource');
  }

  #response(context: CallContext): Outcome | Promise<Outcome> {
    const { message, request, principal } = context;
    const { method = '' } = request?.value ?? {};
    const { result } = message.value;
    if (!isObject(result)) return message;
    const list = lists.get(method);
    if (list !== undefined) return this.#list(message, list, result, principal);
    if (method === 'initialize' || method === 'server/discover')
      return withoutOtherExtensions(message, result);
    return method === 'tasks/list' ? this.#taskList(context, result) : message;
  }

  /** Rebuilt, so that clients read only the filtered list. */
  #list(
    message: Message,
    { member, action, name }: GovernedList,
    result: Params,
    principal: Principal,
  ): Outcome | Promise<Outcome> {
    const listed = membersOf(result, member);
    if (isAboutUri(action)) for (const item of listed) if (isObject(item)) this.#listed.add(item[name]);
    const items = this.#turns.filter(listed, (item) => {
      const named = isObject(item) ? item[name] : undefined;
      if (!isObject(item) || typeof named !== 'string') return false;
      if (action === 'call_tool' && this.#pins === undefined) this.#rememberTool(named, item);
      return this.#isAllowed(principal, { action, name: named });
    });
    return whenKnown(items, (allowed) =>
      resultMessage(idText(message), { ...withoutMember(result, member), [member]: allowed }),
    );
  }

  #taskList(context: CallContext, result: Params): Outcome | Promise<Outcome> {
    const tasks = this.#turns.filter(membersOf(result, 'tasks'), (task) => {
      const called = isObject(task) ? this.#callOf(context, task['taskId']) : undefined;
      return called !== undefined && this.#isAllowed(context.principal, called);
    });
    return whenKnown(tasks, (allowed) =>
      resultMessage(idText(context.message), { ...withoutMember(result, 'tasks'), tasks: allowed }),
    );
  }

  /** A task is a call of its tool, so a policy that forbids the call by now also covers the task. */
  #taskRequest(context: CallContext, id: unknown): Outcome {
    const called = this.#callOf(context, id);
    if (called === undefined) return denied('this task');
    return this.#isAllowed(context.principal, called) ? context.message : denied(described(called), called);
  }

  #callOf(context: CallContext, id: unknown): Target | undefined {
    const began = this.#tasks?.callOf(context, id);
    if (began === undefined) return undefined;
    const { tool, call } = began;
    return target('call_tool', tool, call && argumentsIn(call.value.params ?? {}, this.#textOf(call)));
  }

  #isAllowed(principal: Principal, asked: Target): boolean {
    const { orGiven, ...first } = asked;
    if (orGiven !== undefined && !this.#isAllowed(principal, { ...first, given: orGiven })) return false;
    const { action, name, given } = first;
    const annotations = action === 'call_tool' ? this.#annotationsOf(name) : undefined;
    const listed = isAboutUri(action) ? this.#listed : undefined;
    return this.#authorizer.isAllowed({
      principal,
      action,
      target: name,
      arguments: given,
      annotations,
      listed,
    });
  }

  /** The text in which numbers are compared with their values. Nothing is compared if arguments do not count. */
  #textOf(message: Message): string {
    return this.#authorizer.readsArguments === false ? '' : message.text;
  }

  #annotationsOf(tool: string): Readonly<Record<string, unknown>> | undefined {
    return this.#pins === undefined ? this.#annotations.get(tool) : this.#pins.annotationsOf(tool);
  }

  #rememberTool(name: string, { annotations }: Params): void {
    if (name.length > maxName || (this.#annotations.size >= maxKnown && !this.#annotations.has(name))) return;
    this.#annotations.set(name, isObject(annotations) ? hintsIn(annotations) : {});
  }
}

/** Only the hints, because a server can write annotations of any size. */
function hintsIn(annotations: Params): Params {
  return Object.fromEntries(
    hintNames.flatMap((name) => (typeof annotations[name] === 'boolean' ? [[name, annotations[name]]] : [])),
  );
}

function whenKnown<Known, Result>(
  known: Known | Promise<Known>,
  use: (known: Known) => Result,
): Result | Promise<Result> {
  return known instanceof Promise ? known.then(use) : use(known);
}

function target(action: AccessAction, name: unknown, given?: unknown): Target | undefined {
  if (typeof name !== 'string' || (given !== undefined && given !== null && !isObject(given)))
    return undefined;
  return { action, name, given: isObject(given) ? given : {} };
}

/** The arguments of a call, in which every number has the value that the server reads, or none. */
function argumentsIn(params: Params, text: string): unknown {
  return withExactNumbers(params['arguments'], text, ['params', 'arguments']);
}

/**
 * Completions are decided with the arguments that the client has chosen so far. If the current argument is among them with
 * another value, servers can read either.
 */
function completionTarget(ref: Params, params: Params, text: string): Target | undefined {
  const { argument, context } = params;
  if (hasOtherSpelling(params, ['argument', 'context'])) return undefined;
  if (hasOtherSpelling(ref, ['type', 'name', 'uri'])) return undefined;
  if (isObject(context) && hasOtherSpelling(context, ['arguments'])) return undefined;
  if (isObject(argument) && hasOtherSpelling(argument, ['name', 'value'])) return undefined;
  const { type, name, uri } = ref;
  if (type !== 'ref/prompt') return target('read_resource', uri);
  const chosen = objectIn(context, 'arguments', text, ['params', 'context', 'arguments']);
  const { name: current, value } = objectIn(params, 'argument', text, ['params', 'argument']);
  if (current === undefined) return target('get_prompt', name, chosen);
  if (typeof current !== 'string') return undefined;
  const asked = target('get_prompt', name, { ...chosen, [current]: value });
  return asked && { ...asked, orGiven: { [current]: value, ...chosen } };
}

/** A member that is an object, in which every number has the value that the server reads, or none. */
function objectIn(parent: unknown, member: string, text: string, path: readonly string[]): Params {
  const found = isObject(parent) ? withExactNumbers(parent[member], text, path) : undefined;
  return isObject(found) ? found : {};
}

/** Whether a server that ignores the case of names could read other members. */
function hasOtherSpelling(value: Params, names: readonly string[]): boolean {
  return Object.keys(value).some((name) => isOtherSpelling(name, names));
}

function membersOf(result: Params, member: string): readonly unknown[] {
  const items = result[member];
  return Array.isArray(items) ? items : [];
}

/** Some readers ignore the case of names. */
function withoutMember(result: Params, member: string): Params {
  const folded = member.toLowerCase();
  return Object.fromEntries(Object.entries(result).filter(([name]) => name.toLowerCase() !== folded));
}

const described = ({ action, name }: Target): string => `${action} ${JSON.stringify(name)}`;

/** Whether the thing of an action has a URI. */
export function isAboutUri(action: AccessAction): boolean {
  return action === 'read_resource' || action === 'get_skill';
}

/** Clients see no extension that no policy can cover, because each of its requests would be refused. */
function withoutOtherExtensions(message: Message, result: Params): Outcome {
  const { capabilities } = result;
  const offered = isObject(capabilities) ? capabilities['extensions'] : undefined;
  if (!isObject(capabilities) || !isObject(offered) || Object.keys(offered).every(isKnownExtension))
    return message;
  const extensions = Object.fromEntries(Object.entries(offered).filter(([id]) => isKnownExtension(id)));
  return resultMessage(idText(message), { ...result, capabilities: { ...capabilities, extensions } });
}

function denied(what: string, asked?: Target): Refusal {
  return refusedFor('policy', `no policy allows ${what}`, asked);
}

/**
 * A JSON-RPC error with the HTTP status 200: the Python SDK 1 ends the whole session at any other status. Programs find
 * the reason in `data`, in the form of SEP-2643 (Structured Authorization Denials), without the text of any policy.
 */
function refusedFor(reason: 'policy' | 'unknown_method', why: string, asked?: Target): Refusal {
  const about = asked === undefined ? {} : { action: asked.action, target: asked.name };
  return refusal(deniedCode, `not authorized: ${why}`, {
    authorization: { reason: 'insufficient_authorization' },
    _meta: { [denialKey]: { reason, ...about } },
  });
}

/** The member of `_meta` with the reason for a denial. */
const denialKey = 'io.toolhive/denial';
