import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { RequestError } from '@toolhive/proxy/in-process-server';
import { errorCodes } from '@toolhive/proxy/message';
import { printable } from '@toolhive/contract/printable';
import type { Catalog, Route } from './catalog.ts';
import type { Kind } from './kinds.ts';
import { partsOf, renamedLinks } from './links.ts';
import type { Passed } from './links.ts';
import { ownUri, uriNaming } from './names.ts';
import type { MemberView } from './view.ts';

const maxPatterns = 100;
const maxLinks = 5_000;
const maxShown = 200;

/** Finds the server of a resource. A resource that several servers may have is never chosen for the client. */
export class ResourceRoutes {
  readonly #catalog: Catalog;
  /** The forms of URIs that servers do not list, also of servers that do not run. */
  readonly #patterns = new Map<string, Map<string, Pattern>>();
  /** The servers whose results contain a link, by conversation and URI. */
  readonly #links = new Map<string, Set<string>>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Remembers the templates and skills of a server. */
  learn({ member, lists }: MemberView, kind: Kind): void {
    if (kind !== 'templates' && kind !== 'skills') return;
    const patterns = this.#patterns.get(member.name) ?? new Map<string, Pattern>();
    this.#patterns.set(member.name, patterns);
    for (const { name } of lists[kind].items) {
      const template = kind === 'skills' ? `${folderOf(name)}{file}` : name;
      if (patterns.size < maxPatterns) patterns.set(template, patternOf(template));
    }
  }

  /** Remembers the links in a result of a server, and returns the result with the URIs by which clients find them. */
  linked(conversation: string, server: string, { json, result }: Passed): Passed {
    this.#learnLinks(conversation, server, result);
    let left = maxShown;
    const renamed = renamedLinks(json, result, (uri) => {
      const exposed = this.#catalog.uris.exposed(server, uri);
      if (exposed !== undefined) return exposed;
      // A server writes any number of links, and looking for the servers of each one takes time.
      return left-- > 0 ? this.#linkFrom(server, uri, conversation) : uri;
    });
    return renamed === json ? { json, result } : { json: renamed, result: JSON.parse(renamed) as unknown };
  }

  /** Remembers the links in a result, which need not be in any list. */
  #learnLinks(conversation: string, server: string, result: unknown): void {
    for (const part of partsOf(result).slice(0, maxShown)) {
      const uri = part['type'] === 'resource_link' ? part['uri'] : undefined;
      if (typeof uri !== 'string' || uri.length > 2_048) continue;
      const key = JSON.stringify([conversation, uri]);
      const servers = this.#links.get(key) ?? new Set();
      this.#links.delete(key);
      this.#links.set(key, servers.add(server));
      const [oldest] = this.#links.keys();
      if (this.#links.size > maxLinks && oldest !== undefined) this.#links.delete(oldest);
    }
  }

  /**
   * Returns the URI by which a client finds a resource that a result of a server names and no list contains. It is the same one unless another
   * server may have the resource, too.
   */
  #linkFrom(server: string, uri: string, conversation: string): string {
    if (/^https?:/i.test(uri)) return uri; // clients read it themselves
    const servers = this.serversOf(uri, conversation).map((found) => found.server);
    const isAmbiguous = servers.length > 1 && servers.includes(server);
    return isAmbiguous ? uriNaming.qualified(server, uri)[0] : uri;
  }

  /** Returns where a URI of a client leads. Throws `RequestError` if that is not one running server. */
  async find(
    uri: string,
    { caller, conversation, signal }: { caller: InProcessCaller; conversation: string; signal: AbortSignal },
  ): Promise<Route> {
    const lists = (['resources', 'templates', 'skills', 'tools'] as const).map((kind) =>
      this.#catalog.list(kind, caller, signal),
    );
    await Promise.all(lists);
    const views = this.#catalog.directory.visibleTo(caller);
    const servers = this.serversOf(uri, conversation);
    const [first, second] = servers;
    if (first === undefined) throw refused(`resource ${shown(uri)} not found`);
    if (second !== undefined) {
      const [example] = uriNaming.qualified(first.server, uri);
      const names = servers.map(({ server }) => server).join(', ');
      throw refused(
        `several servers may have the resource ${shown(uri)}: ${names}. Name one of them, for example ${shown(example)}`,
      );
    }
    const view = views.find(({ member }) => member.name === first.server);
    if (view === undefined)
      throw refused(`the server ${first.server} of the resource ${shown(uri)} is not running`);
    return { view, own: first.own };
  }

  /** The servers of the group that a URI can belong to, running or not. */
  serversOf(uri: string, conversation?: string): { server: string; own: string }[] {
    const named = ownUri(uri);
    if (named !== undefined) return [{ server: named.server, own: named.uri }];
    const group = this.#catalog.servers();
    const rivals = this.#catalog.uris.rivals(uri, group);
    const matching = group.filter((server) =>
      this.#patterns
        .get(server)
        ?.values()
        .some((pattern) => matches(pattern, uri)),
    );
    const linking = this.#links.get(JSON.stringify([conversation, uri])) ?? new Set<string>();
    const [found = []] = [rivals, matching, group.filter((server) => linking.has(server))].filter(
      ({ length }) => length > 0,
    );
    return found.map((server) => ({ server, own: uri }));
  }
}

/** Returns the folder of the file of a skill. */
function folderOf(uri: string): string {
  return uri.endsWith('/') ? uri : `${uri.replace(/\/SKILL\.md$/i, '')}/`;
}

/** The texts of a template (RFC 6570) around its variables. */
interface Pattern {
  start: string;
  between: readonly string[];
  /** Undefined for a template without variables. */
  end: string | undefined;
}

function patternOf(template: string): Pattern {
  const [start = '', ...others] = template.split(/\{[^{}]*\}/);
  const end = others.pop();
  return { start, between: others.filter((literal) => literal !== ''), end };
}

/** Whether a URI can come from a template, whatever the variables contain. A template must contain a scheme. */
function matches({ start, between, end }: Pattern, uri: string): boolean {
  if (!start.includes(':') || !uri.startsWith(start)) return false;
  if (end === undefined) return uri === start;
  let at = start.length;
  for (const literal of between) {
    const found = uri.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return uri.length - end.length >= at && uri.endsWith(end);
}

function refused(message: string): RequestError {
  return new RequestError(errorCodes.invalidParams, message);
}

function shown(text: string): string {
  return printable(text).slice(0, maxShown);
}
