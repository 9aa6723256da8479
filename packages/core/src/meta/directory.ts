import { hash } from 'node:crypto';
import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import type { SearchableTool } from '@toolhive/tool-search/tool-index';
import type { Member, Members } from './members.ts';
import { ToolView } from './tool-view.ts';
import type { ListedTool } from './tool-view.ts';

/** A tool that a meta server finds. */
export interface IndexedTool extends SearchableTool {
  group: string;
  /** The tool as the workload lists it. */
  listed: ListedTool;
}

export interface DirectoryOptions {
  members: Members;
  version: string;
  pollingMs: number;
  onFault: (error: unknown) => void;
}

/** How many credentials are kept for one workload. */
const maxViews = 20;
/** How many names of tools are remembered, with their servers. */
const maxOwned = 20_000;
/** How long a search waits for lists that are being read. */
const patienceMs = 3_000;

/** The tools that a caller may call now, and the servers whose tools are unknown. */
export interface Visible {
  /** By the ID of the tool. */
  views: ReadonlyMap<string, ToolView>;
  problems: { server: string; problem: string }[];
  servers: { name: string; group: string; tools: number }[];
  /** All servers that have offered a tool of a name since the meta server was started. */
  owners: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * The tools of all members, current within a second of each change: servers report when their tools change, and events
 * report when the members do. Polling covers servers that report nothing.
 */
export class ToolDirectory implements AsyncDisposable {
  readonly #options: DirectoryOptions;
  readonly #over = new AbortController();
  readonly #views = new Map<string, Map<string, ToolView>>();
  readonly #owners = new Map<string, Set<string>>();
  readonly #polling: NodeJS.Timeout;
  #index = ToolIndex.empty<IndexedTool>();
  #isStale = false;
  #building: Promise<void> | undefined;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#polling = setInterval(() => this.#poll(), options.pollingMs).unref();
    this.#followMembers();
    void this.#followEvents().catch(options.onFault);
  }

  /** Returns the current index. Waits for lists that are being read, but only for a while. */
  async current(signal: AbortSignal): Promise<ToolIndex<IndexedTool>> {
    await this.#settle(signal);
    return this.#index;
  }

  /** Returns the tools that a caller may call. */
  async visibleTo(caller: InProcessCaller, signal: AbortSignal): Promise<Visible> {
    const views = new Map<string, ToolView>();
    const problems: Visible['problems'] = [];
    const servers: Visible['servers'] = [];
    const own: ToolView[] = [];
    for (const member of this.#options.members.current()) {
      const { name: server, group, refusal } = member;
      if (refusal === undefined) {
        own.push(this.#viewFor(member, caller));
        continue;
      }
      problems.push({ server, problem: refusal });
      servers.push({ name: server, group, tools: 0 });
    }
    await this.#settle(signal);
    for (const view of own) {
      const { name, group } = view.member;
      if (view.problem !== undefined) problems.push({ server: name, problem: view.problem });
      servers.push({ name, group, tools: view.tools.length });
      for (const tool of view.tools) views.set(idOf(name, tool.name), view);
    }
    return { views, problems, servers, owners: this.#owners };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the meta server ends'));
    clearInterval(this.#polling);
    await Promise.all(this.#all().map((view) => view[Symbol.asyncDispose]()));
    await this.#building;
  }

  #all(): ToolView[] {
    return [...this.#views.values()].flatMap((views) => [...views.values()]);
  }

  #viewFor(member: Member, { authorization }: InProcessCaller): ToolView {
    const credentials = member.isAuthenticated ? authorization : undefined;
    const key = credentials === undefined ? '' : hash('sha256', credentials);
    const views = this.#views.get(member.name) ?? new Map<string, ToolView>();
    this.#views.set(member.name, views);
    const known = views.get(key);
    if (known?.member.proxy === member.proxy) {
      known.used();
      return known;
    }
    if (known !== undefined) this.#drop(known);
    const view = new ToolView({
      member,
      authorization: credentials,
      version: this.#options.version,
      onChange: () => this.#changed(),
    });
    views.set(key, view);
    const oldest = [...views].toSorted(([, one], [, other]) => one.lastUsedMs - other.lastUsedMs)[0];
    if (views.size > maxViews && oldest !== undefined) {
      views.delete(oldest[0]);
      this.#drop(oldest[1]);
    }
    return view;
  }

  /** Opens a view for each new workload, and closes those of workloads that do not run anymore. */
  #followMembers(): void {
    const usable = this.#options.members.current().filter(({ refusal }) => refusal === undefined);
    const members = new Map(usable.map((member) => [member.name, member]));
    let isChanged = false;
    for (const [name, views] of this.#views) {
      for (const [key, view] of views) {
        if (members.get(name)?.proxy === view.member.proxy && members.get(name)?.group === view.member.group)
          continue;
        views.delete(key);
        this.#drop(view);
        isChanged = true;
      }
      if (views.size === 0) this.#views.delete(name);
    }
    // The tools of the others are listed for each caller, with the credentials of the caller.
    for (const member of usable.filter(({ isAuthenticated }) => !isAuthenticated))
      this.#viewFor(member, { principal: '', client: { protocolVersion: '', capabilities: {} } });
    if (isChanged) this.#changed();
  }

  #drop(view: ToolView): void {
    view[Symbol.asyncDispose]().catch(this.#options.onFault);
  }

  async #followEvents(): Promise<void> {
    for await (const change of this.#options.members.changes(this.#over.signal)) {
      this.#followMembers();
      if (change.kind === 'tools')
        for (const view of this.#views.get(change.name)?.values() ?? [])
          view.refresh().catch(this.#options.onFault);
      if (change.kind === 'everything')
        for (const view of this.#all()) view.refresh().catch(this.#options.onFault);
    }
  }

  /** Reads the lists of servers that report no changes. Each listing is audited, so others are not read again. */
  #poll(): void {
    this.#followMembers();
    for (const view of this.#all()) if (view.needsPolling) view.refresh().catch(this.#options.onFault);
  }

  #changed(): void {
    this.#isStale = true;
    this.#building ??= this.#build()
      .catch(this.#options.onFault)
      .finally(() => (this.#building = undefined));
  }

  /** Builds the index once for all changes that happen in the meantime. */
  async #build(): Promise<void> {
    while (this.#isStale && !this.#over.signal.aborted) {
      this.#isStale = false;
      const tools = new Map<string, IndexedTool>();
      for (const view of this.#all())
        for (const listed of view.tools) {
          const tool = indexed(view, listed);
          if (!tools.has(tool.id)) tools.set(tool.id, tool);
          this.#remember(tool);
        }
      this.#index = await ToolIndex.build(tools.values());
    }
  }

  /** A name that another server has offered before does not lead to a server that offers it now. */
  #remember({ name, server }: IndexedTool): void {
    const owners = this.#owners.get(name);
    if (owners !== undefined) owners.add(server);
    else if (this.#owners.size < maxOwned) this.#owners.set(name, new Set([server]));
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const pending = [...this.#all().flatMap((view) => view.pending ?? []), this.#building].filter(
        (one) => one !== undefined,
      );
      const leftMs = deadline - performance.now();
      if (pending.length === 0 || leftMs <= 0 || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, leftMs);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await Promise.race([Promise.all(pending), promise]);
      clearTimeout(timer);
    }
  }
}

/** Returns the ID of a tool in an index. Names of workloads contain no spaces. */
export function idOf(server: string, name: string): string {
  return `${server} ${name}`;
}

function indexed({ member, serverDescription }: ToolView, listed: ListedTool): IndexedTool {
  const { name, title, description, inputSchema, annotations } = listed;
  return {
    id: idOf(member.name, name),
    server: member.name,
    group: member.group,
    serverDescription,
    name,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
    annotations,
    listed,
  };
}
