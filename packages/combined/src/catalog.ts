import { printable } from '@toolhive/contract/printable';
import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { appUrisOf } from '@toolhive/proxy/apps';
import { isObject } from '@toolhive/proxy/message';
import { Directory } from './directory.ts';
import type { DirectoryOptions } from './directory.ts';
import { kinds } from './kinds.ts';
import type { Kind } from './kinds.ts';
import type { Item } from './list.ts';
import { Names, plainNaming, uriNaming } from './names.ts';
import type { MemberView } from './view.ts';

export interface CatalogOptions extends Omit<DirectoryOptions, 'onList' | 'circumstances'> {
  /** Called after a list of a server was read. */
  onList: (view: MemberView, kind: Kind) => void;
  /** The chosen tools as `server/tool`. Undefined if all tools are offered. */
  chosen: () => ReadonlySet<string> | undefined;
  /** Writes to the log of the endpoint. */
  note: (text: string) => void;
}

/** Where a name of a client leads. */
export interface Route {
  view: MemberView;
  /** The name or URI as the server knows it. */
  own: string;
}

/** One list for clients with the same rights. */
export interface Listing {
  /** The result of the request. Requests get the same object while nothing changes. */
  json: string;
  isRepeated: true;
  routes: ReadonlyMap<string, Route>;
}

/** A server that a list leaves out, for clients. */
interface LeftOut {
  server: string;
  reason: string;
}

/** The member of `_meta` of a list with the servers that it leaves out. */
const leftOutKey = 'io.toolhive/left-out';
/** How many lists are kept. Those of different callers are usually the same. */
const maxListings = 100;
/** How long all kept lists together may be, apart from the latest one. Servers decide how often their lists change. */
const maxListingChars = 32 * 1024 * 1024;
const maxProblem = 300;
/** Clients read lists again when they change, and otherwise after a while. */
const cacheable = { ttlMs: 5_000, cacheScope: 'private' };

/** Everything that the servers of a group offer, under names that lead to one server each. */
export class Catalog implements AsyncDisposable {
  readonly directory: Directory;
  readonly tools: Names;
  readonly prompts: Names;
  readonly uris: Names;
  readonly #options: CatalogOptions;
  readonly #listings = new Map<string, Listing>();
  #listingChars = 0;
  /** The problems that are in the log already. */
  #noted = new Map<string, string>();
  /** The chosen tools that names are remembered for. */
  #chosen = '';

  constructor(options: CatalogOptions) {
    this.#options = options;
    const servers = (): readonly string[] => options.members.names();
    this.tools = new Names(plainNaming, servers);
    this.prompts = new Names(plainNaming, servers);
    this.uris = new Names(uriNaming, servers);
    this.directory = new Directory({
      ...options,
      circumstances: () => JSON.stringify([servers(), [...(options.chosen() ?? ['all'])]]),
      onList: (view, kind) => {
        const changed = this.#remember(view, kind);
        options.onList(view, kind);
        return changed;
      },
    });
  }

  /** The names of all servers of the group, running or not. */
  servers(): readonly string[] {
    return this.#options.members.names();
  }

  /** Returns the current list, after at most a second. */
  async list(kind: Kind, caller: InProcessCaller, signal: AbortSignal): Promise<Listing> {
    const views = this.directory.visibleTo(caller);
    await this.directory.settle(views, [kind], signal);
    return this.#listing(kind, views);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory[Symbol.asyncDispose]();
  }

  #listing(kind: Kind, views: readonly MemberView[]): Listing {
    const leftOut = this.#leftOut(kind, views);
    if (kind === 'tools') this.#rememberChosen(views);
    const servers = this.#options.members.names();
    const { tools, prompts, uris } = this;
    const chosen = this.#options.chosen();
    const key = JSON.stringify([
      kind,
      views.map(({ id, lists }) => [id, lists[kind].revision]),
      leftOut,
      servers,
      [tools.revision, prompts.revision, uris.revision],
      kind === 'tools' && chosen !== undefined ? [...chosen] : [],
    ]);
    const known = this.#listings.get(key);
    if (known !== undefined) return known;
    const texts: string[] = [];
    const routes = new Map<string, Route>();
    for (const view of views)
      for (const item of this.#offered(kind, view)) {
        const name = this.#namesOf(kind).exposed(view.member.name, item.name, servers);
        if (name === undefined || routes.has(name)) continue;
        routes.set(name, { view, own: item.name });
        texts.push(this.#textOf(kind, { view, item, name, servers }));
      }
    const more = { ...cacheable, ...(leftOut.length === 0 ? {} : { _meta: { [leftOutKey]: leftOut } }) };
    const json = `{"resultType":"complete","${kinds[kind].member}":[${texts.join(',')}],${JSON.stringify(more).slice(1)}`;
    const listing: Listing = { json, isRepeated: true, routes };
    this.#keep(key, listing);
    return listing;
  }

  #keep(key: string, listing: Listing): void {
    this.#listings.set(key, listing);
    this.#listingChars += listing.json.length;
    for (const [oldest, { json }] of this.#listings) {
      const isRoom = this.#listings.size <= maxListings && this.#listingChars <= maxListingChars;
      if (isRoom || oldest === key) return;
      this.#listings.delete(oldest);
      this.#listingChars -= json.length;
    }
  }

  #namesOf(kind: Kind): Names {
    if (kind === 'tools') return this.tools;
    return kind === 'prompts' ? this.prompts : this.uris;
  }

  #offered(kind: Kind, { member, lists }: MemberView): Item[] {
    const chosen = kind === 'tools' ? this.#options.chosen() : undefined;
    const items = [...lists[kind].items];
    return chosen === undefined
      ? items
      : items.filter(({ name }) => chosen.has(`${member.name}/${name}`) || chosen.has(`${member.name}/*`));
  }

  /** The text of the server, unless a name in it changes. */
  #textOf(
    kind: Kind,
    { view, item, name, servers }: { view: MemberView; item: Item; name: string; servers: readonly string[] },
  ): string {
    const rename = (uri: string): string => this.uris.exposed(view.member.name, uri, servers) ?? uri;
    const meta = kind === 'tools' ? renamedApp(item.value['_meta'], rename) : undefined;
    if (name === item.name && meta === undefined) return item.text;
    const _meta = meta === undefined ? {} : { _meta: meta };
    return JSON.stringify({ ...item.value, [kinds[kind].key]: name, ..._meta });
  }

  #leftOut(kind: Kind, views: readonly MemberView[]): LeftOut[] {
    const running = new Set(views.map(({ member }) => member.name));
    const absent = this.#options.members
      .names()
      .filter((server) => !running.has(server))
      .map((server) => ({ server, reason: 'the server is not running' }));
    return [...absent, ...views.flatMap((view) => this.#missingOf(kind, view))];
  }

  #missingOf(kind: Kind, { member: { name: server }, lists }: MemberView): LeftOut[] {
    const { problem, pendingSinceMs, isTruncated } = lists[kind];
    this.#note(`${kind} of ${server}`, problem);
    if (pendingSinceMs !== undefined) return [{ server, reason: 'the server has not answered yet' }];
    // The text of an error is that of the server, so it is in the log only.
    if (problem !== undefined) return [{ server, reason: 'the list of the server could not be read' }];
    return isTruncated ? [{ server, reason: 'the server lists too much, so a part is left out' }] : [];
  }

  #note(what: string, problem: string | undefined): void {
    if (this.#noted.get(what) === problem) return;
    if (problem === undefined) this.#noted.delete(what);
    else this.#noted.set(what, problem);
    const text =
      problem === undefined
        ? 'are available again'
        : `are left out: ${printable(problem).slice(0, maxProblem)}`;
    this.#options.note(`${what} ${text}`);
  }

  /** Remembers the tools that a changed choice adds. */
  #rememberChosen(views: readonly MemberView[]): void {
    const chosen = [...(this.#options.chosen() ?? ['all'])].join('\n');
    if (chosen === this.#chosen) return;
    this.#chosen = chosen;
    for (const view of views) this.#remember(view, 'tools');
  }

  /** Remembers the things that a server offers. Returns the further lists whose names change. */
  #remember(view: MemberView, kind: Kind): readonly Kind[] {
    const { name } = view.member;
    const items = this.#offered(kind, view);
    const isConflict = this.#namesOf(kind).offer(
      name,
      items.map((item) => item.name),
    );
    const apps = kind === 'tools' ? items.flatMap(({ value }) => appUrisOf(value['_meta'])) : [];
    const areUris = (isConflict && kind !== 'tools' && kind !== 'prompts') || this.uris.offer(name, apps);
    return areUris ? ['tools', 'resources', 'templates', 'skills'] : [];
  }
}

/** Returns the metadata with the names that clients know the pages by. Undefined if they are the same. */
export function renamedApp(
  meta: unknown,
  rename: (uri: string) => string,
): Record<string, unknown> | undefined {
  if (!isObject(meta) || appUrisOf(meta).every((uri) => rename(uri) === uri)) return undefined;
  const { ui, 'ui/resourceUri': older } = meta;
  const uri = isObject(ui) ? ui['resourceUri'] : undefined;
  return {
    ...meta,
    ...(isObject(ui) && typeof uri === 'string' ? { ui: { ...ui, resourceUri: rename(uri) } } : {}),
    ...(typeof older === 'string' ? { 'ui/resourceUri': rename(older) } : {}),
  };
}
