import { printable } from '@toolhive/contract/printable';
import { RequestError, unknownMethod } from '@toolhive/proxy/in-process-server';
import type { InProcessCall, InProcessCaller, InProcessResult } from '@toolhive/proxy/in-process-server';
import { errorCodes, isObject, replaceAt, spanOf } from '@toolhive/proxy/message';
import { meta } from '@toolhive/proxy/protocol';
import type { Catalog, Route } from './catalog.ts';
import { kinds } from './kinds.ts';
import type { Kind } from './kinds.ts';
import type { Passed } from './links.ts';
import type { ResourceRoutes } from './resource-routes.ts';

type Params = Record<string, unknown>;

const kindOfMethod: ReadonlyMap<string, Kind> = new Map(
  (Object.keys(kinds) as Kind[]).map((kind) => [kinds[kind].method, kind]),
);

/** The requests about a resource or a skill. */
const aboutUri: ReadonlySet<string> = new Set(['resources/read', 'resources/directory/read', 'skills/get']);

/**
 * The notifications that a server may send during a call. Everything else concerns other clients, and the endpoint learns of it by other
 * ways.
 */
const passedOn: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
  'notifications/elicitation/complete',
]);

const maxShown = 200;

/** Answers the requests of clients: lists from the catalog, and everything else through the proxy of a server. */
export class Calls {
  readonly #catalog: Catalog;
  readonly #routes: ResourceRoutes;

  constructor({ catalog, routes }: { catalog: Catalog; routes: ResourceRoutes }) {
    this.#catalog = catalog;
    this.#routes = routes;
  }

  async answer(method: string, params: Params, call: InProcessCall): Promise<InProcessResult> {
    const kind = kindOfMethod.get(method);
    if (kind !== undefined) return this.#catalog.list(kind, call.caller, call.signal);
    if (method === 'tools/call' || method === 'prompts/get') {
      const route = await this.#named(method === 'tools/call' ? 'tools' : 'prompts', params['name'], call);
      return this.#pass(method, { ...params, name: route.own }, route, call);
    }
    if (aboutUri.has(method)) {
      const route = await this.#resource(params['uri'], call);
      const passed = await this.#pass(method, { ...params, uri: route.own }, route, call);
      return method === 'resources/read' ? renamedContents(passed, route.own, String(params['uri'])) : passed;
    }
    if (method === 'completion/complete') return this.#complete(params, call);
    throw unknownMethod(method);
  }

  async #complete(params: Params, call: InProcessCall): Promise<InProcessResult> {
    const { ref } = params;
    if (!isObject(ref)) throw invalidParams('ref must be an object');
    const member = ref['type'] === 'ref/prompt' ? 'name' : 'uri';
    const route =
      member === 'name'
        ? await this.#named('prompts', ref['name'], call)
        : await this.#resource(ref['uri'], call);
    return this.#pass(
      'completion/complete',
      { ...params, ref: { ...ref, [member]: route.own } },
      route,
      call,
    );
  }

  async #named(kind: 'tools' | 'prompts', name: unknown, { caller, signal }: InProcessCall): Promise<Route> {
    if (typeof name !== 'string') throw invalidParams('name must be a string');
    const { routes } = await this.#catalog.list(kind, caller, signal);
    const route = routes.get(name);
    if (route !== undefined) return route;
    throw invalidParams(this.#whyMissing(kind, name, routes));
  }

  #whyMissing(kind: 'tools' | 'prompts', name: string, routes: ReadonlyMap<string, Route>): string {
    const what = `${kind.slice(0, -1)} ${printable(name).slice(0, maxShown)}`;
    const names = this.#catalog[kind];
    const rivals = names.rivals(name);
    const others = [...routes]
      .filter(([, { view, own }]) => own === name && rivals.includes(view.member.name))
      .map(([exposed]) => exposed);
    if (rivals.length > 1)
      return `several servers have the ${what}${others.length === 0 ? '' : `, use ${others.join(' or ')}`}`;
    const owner = names.ownerOf(name);
    return owner === undefined || !this.#catalog.servers().includes(owner.server)
      ? `${what} not found`
      : `the server ${owner.server} of the ${what} does not offer it now`;
  }

  async #resource(uri: unknown, { caller, signal }: InProcessCall): Promise<Route> {
    if (typeof uri !== 'string') throw invalidParams('uri must be a string');
    return this.#routes.find(uri, { caller, conversation: conversationOf(caller), signal });
  }

  /** Passes a request on as the caller. A question of the server is the result, and the client repeats the request. */
  async #pass(method: string, params: Params, { view }: Route, call: InProcessCall): Promise<Passed> {
    const { caller, signal } = call;
    const passed = { ...params, _meta: withoutTasks(params['_meta']) };
    const notify = ({ value: { method: said = '', params: about = {} } }: Notification): void => {
      if (!passedOn.has(said)) return;
      const { [meta.subscriptionId]: _id, ...others } = isObject(about['_meta']) ? about['_meta'] : {};
      call.notify(said, about['_meta'] === undefined ? about : { ...about, _meta: others });
    };
    const response = await view.converse(caller.session, (client) =>
      client.ask(method, passed, { signal, notify }),
    );
    const { error, result } = response.value;
    if (error !== undefined)
      throw new RequestError(error.code, error.message, isObject(error.data) ? error.data : undefined);
    const [start, end] = spanOf(response.text, ['result']) ?? [0, 0];
    const json = response.text.slice(start, end);
    if (method !== 'tools/call' && method !== 'prompts/get') return { json, result };
    return this.#routes.linked(conversationOf(caller), view.member.name, { json, result });
  }
}

/** Contents have the URI that the client has asked for, by which hosts of apps find the page. */
function renamedContents({ json, result }: Passed, own: string, asked: string): InProcessResult {
  const span = spanOf(json, ['contents']);
  if (own === asked || span === undefined || !isObject(result) || !Array.isArray(result['contents']))
    return { json };
  const contents = result['contents'].map((part: unknown) =>
    isObject(part) && part['uri'] === own ? { ...part, uri: asked } : part,
  );
  return { json: replaceAt(json, span, JSON.stringify(contents)) };
}

interface Notification {
  value: { method?: string; params?: Params };
}

/** A task belongs to one server, and its ID does not say to which. */
function withoutTasks(given: unknown): Params {
  const { [meta.clientCapabilities]: capabilities, ...others } = isObject(given) ? given : {};
  if (!isObject(capabilities)) return others;
  const { tasks: _tasks, extensions, ...more } = capabilities;
  const { 'io.modelcontextprotocol/tasks': _extension, ...rest } = isObject(extensions) ? extensions : {};
  return {
    ...others,
    [meta.clientCapabilities]: { ...more, ...(isObject(extensions) ? { extensions: rest } : {}) },
  };
}

/** Identifies what one client does among everything of a caller. */
export function conversationOf({ principal, session, client }: InProcessCaller): string {
  return JSON.stringify([principal, session ?? client.clientInfo ?? '']);
}

function invalidParams(message: string): RequestError {
  return new RequestError(errorCodes.invalidParams, message);
}
