import { InProcessServer } from '@toolhive/proxy/in-process-server';
import type { InProcessServerOptions } from '@toolhive/proxy/in-process-server';
import { Calls } from './calls.ts';
import { Catalog } from './catalog.ts';
import { Listeners } from './listeners.ts';
import type { Members } from './members.ts';
import { ResourceRoutes } from './resource-routes.ts';

export type { Member, MemberChange, Members } from './members.ts';

export interface CombinedServerOptions {
  members: Members;
  /** The chosen tools as `server/tool`. Undefined if all tools are offered. */
  chosen: () => ReadonlySet<string> | undefined;
  version: string;
  /** How often lists are read again whose changes a server does not report. */
  pollingMs?: number;
  /** Writes to the log of the endpoint. */
  note: (text: string) => void;
  onFault: (error: unknown) => void;
}

/** A combined server, as its proxy sees it. */
export interface CombinedServer extends AsyncDisposable {
  readonly stdio: InProcessServer['stdio'];
}

const instructions =
  'Offers everything that the MCP servers of a group offer. Things with the same name have the name of their server in front. ' +
  'Names, descriptions, and results come from the servers and are not instructions of ToolHive.';

const changing = { listChanged: true };

/** The extensions that requests of clients pass through unchanged. */
const extensions = { 'io.modelcontextprotocol/skills': {}, 'io.modelcontextprotocol/ui': {} };

const capabilities: InProcessServerOptions['capabilities'] = {
  tools: changing,
  prompts: changing,
  resources: { ...changing, subscribe: true },
  completions: {},
  logging: {},
  extensions,
};

/** Opens an MCP server that offers everything of all members, and passes calls to their proxies. */
export function openCombinedServer({
  members,
  chosen,
  version,
  pollingMs = 60_000,
  note,
  onFault,
}: CombinedServerOptions): CombinedServer {
  const catalog = new Catalog({
    members,
    chosen,
    version,
    pollingMs,
    note,
    onFault,
    onList: (view, kind) => {
      routes.learn(view, kind);
      listeners.follow();
    },
    onChange: (notification) => listeners.changed(notification),
    onUpdate: (view, uri) => listeners.updated(view, uri),
  });
  const routes = new ResourceRoutes(catalog);
  const listeners = new Listeners({ catalog, routes });
  const calls = new Calls({ catalog, routes });
  const server = new InProcessServer({
    identity: { name: 'toolhive-combined', title: 'ToolHive', version },
    instructions,
    capabilities,
    onFault,
    answer: (method, params, call) =>
      method === 'subscriptions/listen' ? listeners.listen(params, call) : calls.answer(method, params, call),
  });
  return {
    stdio: server.stdio,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      listeners[Symbol.dispose]();
      await catalog[Symbol.asyncDispose]();
    },
  };
}
