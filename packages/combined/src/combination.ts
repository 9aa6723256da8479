import { unknownMethod } from '@toolhive/proxy/in-process-server';
import type {
  InProcessCall,
  InProcessCaller,
  InProcessResult,
  InProcessServerOptions,
} from '@toolhive/proxy/in-process-server';
import { Calls, conversationOf } from './calls.ts';
import { isObject } from '@toolhive/proxy/message';
import { Catalog, renamedApp } from './catalog.ts';
import type { Listing, Route } from './catalog.ts';
import type { Passed } from './links.ts';
import { Listeners } from './listeners.ts';
import type { Members } from './members.ts';
import { ResourceRoutes } from './resource-routes.ts';

export interface CombinationOptions {
  members: Members;
  /** The chosen tools as `server/tool`. Undefined if all tools are offered. */
  chosen?: () => ReadonlySet<string> | undefined;
  version: string;
  /** How often lists are read again whose changes a server does not report. */
  pollingMs?: number;
  /** Writes to the log of the endpoint. */
  note: (text: string) => void;
  onFault: (error: unknown) => void;
}

/** A skill of a server (SEP-2640), with the URI that clients know. All texts are those of the server. */
export interface KnownSkill {
  server: string;
  uri: string;
  name: string;
  description: string;
  /** The entry of the skill. */
  entry: Readonly<Record<string, unknown>>;
}

function skillAt(uri: string, { view, own }: Route): KnownSkill {
  const entry = view.lists.skills.find(own)?.value ?? {};
  const { frontmatter } = entry;
  const { name, description } = isObject(frontmatter) ? frontmatter : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { server: view.member.name, uri, name: text(name), description: text(description), entry };
}

const changing = { listChanged: true };

/** What servers offer besides tools. The requests of clients pass through the extensions unchanged. */
export const capabilitiesBesidesTools: InProcessServerOptions['capabilities'] = {
  prompts: changing,
  resources: { ...changing, subscribe: true },
  completions: {},
  logging: {},
  extensions: { 'io.modelcontextprotocol/skills': {}, 'io.modelcontextprotocol/ui': {} },
};

export const capabilities: InProcessServerOptions['capabilities'] = {
  tools: changing,
  ...capabilitiesBesidesTools,
};

/** Answers requests with everything that several servers offer, and passes calls to their proxies. */
export class Combination implements AsyncDisposable {
  readonly #catalog: Catalog;
  readonly #routes: ResourceRoutes;
  readonly #listeners: Listeners;
  readonly #calls: Calls;
  readonly #skills = new WeakMap<Listing, readonly KnownSkill[]>();

  constructor({ chosen = () => undefined, pollingMs = 60_000, ...options }: CombinationOptions) {
    const catalog = new Catalog({
      ...options,
      chosen,
      pollingMs,
      onList: (view, kind) => {
        this.#routes.learn(view, kind);
        this.#listeners.follow();
      },
      onChange: (notification) => this.#listeners.changed(notification),
      onUpdate: (view, uri) => this.#listeners.updated(view, uri),
    });
    this.#catalog = catalog;
    this.#routes = new ResourceRoutes(catalog);
    this.#listeners = new Listeners({ catalog, routes: this.#routes });
    this.#calls = new Calls({ catalog, routes: this.#routes });
  }

  answer(method: string, params: Record<string, unknown>, call: InProcessCall): Promise<InProcessResult> {
    return method === 'subscriptions/listen'
      ? this.#listeners.listen(params, call)
      : this.#calls.answer(method, params, call);
  }

  /** Answers a request that has nothing to do with tools. */
  async answerBesidesTools(
    method: string,
    params: Record<string, unknown>,
    call: InProcessCall,
  ): Promise<InProcessResult> {
    if (method.startsWith('tools/')) throw unknownMethod(method);
    return this.answer(method, params, call);
  }

  /** Returns the skills of all servers. As long as nothing changes, the list is the same object. */
  async skills(caller: InProcessCaller, signal: AbortSignal): Promise<readonly KnownSkill[]> {
    const listing = await this.#catalog.list('skills', caller, signal);
    const known = this.#skills.get(listing) ?? [...listing.routes].map(([uri, route]) => skillAt(uri, route));
    this.#skills.set(listing, known);
    return known;
  }

  /** Returns the metadata of a server's tool (MCP Apps) with the URIs that clients know. */
  metadataOf(server: string, metadata: Record<string, unknown>): Record<string, unknown> {
    return renamedApp(metadata, (uri) => this.#catalog.uris.exposed(server, uri) ?? uri) ?? metadata;
  }

  /** Remembers the resources that a result of a server links to, and returns the result with the URIs that clients know. */
  linked(caller: InProcessCaller, server: string, passed: Passed): Passed {
    return this.#routes.linked(conversationOf(caller), server, passed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners[Symbol.dispose]();
    await this.#catalog[Symbol.asyncDispose]();
  }
}
