import { createHash } from 'node:crypto';

/** The longest name that is made up here. Some clients accept no longer ones. */
const maxMade = 64;
const maxServerPart = 30;
/** Names that clients may use as they are (MCP 2026-07-28, Tools, Tool Names). */
const legalName = /^[A-Za-z0-9_./-]{1,128}$/;

/** How a kind of name is told apart, and how the name of a server becomes a part of it. */
export interface Naming {
  /** Names with the same key conflict. */
  keyOf: (own: string) => string;
  /** Whether clients may get a name of a server unchanged. `servers` are all servers of the group. */
  isUsable: (own: string, servers: readonly string[]) => boolean;
  /** The name with the name of its server. A second one is longer and unlikely to be taken. */
  qualified: (server: string, own: string) => readonly [string, string];
}

/** Names of tools and prompts: `server__name`, in characters that every client accepts. */
export const plainNaming: Naming = {
  keyOf: (own) => legal(own).toLowerCase(),
  isUsable: (own, servers) => {
    const key = legal(own).toLowerCase();
    return (
      legalName.test(own) &&
      !servers.some((server) => key.startsWith(`${serverPart(server).toLowerCase()}__`))
    );
  },
  qualified(server, own) {
    const digest = `_${createHash('sha256').update(`${server}\0${own}`).digest('hex').slice(0, 12)}`;
    const simple = `${serverPart(server)}__${legal(own)}`;
    const marked = `${simple.slice(0, maxMade - digest.length)}${digest}`;
    const isExact = simple.length <= maxMade && simple === `${server}__${own}`;
    return isExact ? [simple, marked] : [marked, marked];
  },
};

/** The authority of URIs that name their server. */
const authority = 'combined.toolhive';
const schemed = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;

/** URIs keep their scheme, by which clients recognize them: `ui://combined.toolhive/server/` and the rest of the URI. */
export const uriNaming: Naming = {
  keyOf: (own) => own.replace(/^[^:]*/, (scheme) => scheme.toLowerCase()),
  isUsable: (own) => !namesServer(own),
  qualified(server, own) {
    const [, scheme = 'resource', rest = own] = schemed.exec(own) ?? [];
    const uri = `${scheme}://${authority}/${server}/${rest}`;
    return [uri, uri];
  },
};

/** Returns the server that a URI names, and the URI as the server knows it. */
export function ownUri(uri: string): { server: string; uri: string } | undefined {
  const [, scheme, rest = ''] = schemed.exec(uri) ?? [];
  const start = `//${authority}/`;
  const end = rest.indexOf('/', start.length);
  if (scheme === undefined || !rest.startsWith(start) || end < 0) return undefined;
  return { server: rest.slice(start.length, end), uri: `${scheme}:${rest.slice(end + 1)}` };
}

/** Whether a URI belongs to the names that are made up here, which servers must not use. */
function namesServer(uri: string): boolean {
  return uri.toLowerCase().includes(`//${authority}`);
}

function legal(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function serverPart(server: string): string {
  return legal(server).slice(0, maxServerPart);
}

/** How many names of one server are remembered. Its further things are left out. */
const maxNames = 10_000;

/**
 * The names that clients know things by. A name stays the same unless another server of the group offers the same one,
 * running or not. Then both get the name of their server and keep it. A name that clients have got never leads to another server.
 */
export class Names {
  readonly #naming: Naming;
  readonly #servers: () => readonly string[];
  /** The servers that have offered a name, by the key of the name. */
  readonly #offered = new Map<string, Set<string>>();
  /** The server and its own name, by the name that clients have got. */
  readonly #given = new Map<string, { server: string; own: string }>();
  /** The present name of a thing with the name of its server, by server and own name. */
  readonly #qualified = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** Increases when names that clients have got may change. */
  revision = 0;

  constructor(naming: Naming, servers: () => readonly string[]) {
    this.#naming = naming;
    this.#servers = servers;
  }

  /** Remembers the names of a server. Returns whether names of other servers change. */
  offer(server: string, names: Iterable<string>): boolean {
    let isConflict = false;
    for (const own of names) {
      const key = this.#naming.keyOf(own);
      const servers = this.#offered.get(key) ?? new Set();
      if (servers.has(server)) continue;
      const count = (this.#counts.get(server) ?? 0) + 1;
      if (count > maxNames) continue;
      this.#counts.set(server, count);
      this.#offered.set(key, servers.add(server));
      if (servers.size > 1) isConflict = true;
    }
    if (isConflict) this.revision++;
    return isConflict;
  }

  /** Returns the name for clients. Undefined if none is free. */
  exposed(server: string, own: string, servers: readonly string[] = this.#servers()): string | undefined {
    if (this.#offered.get(this.#naming.keyOf(own))?.has(server) !== true) return undefined;
    const id = JSON.stringify([server, own]);
    const present = this.#qualified.get(id);
    if (present !== undefined) return present;
    const others = servers.filter((other) => other !== server);
    const isPlain = this.#naming.isUsable(own, others) && this.rivals(own, servers).length < 2;
    const candidates = [...(isPlain ? [own] : []), ...this.#naming.qualified(server, own)];
    const name = candidates.find((candidate) => {
      const before = this.#given.get(candidate);
      return before === undefined || (before.server === server && before.own === own);
    });
    if (name === undefined) return undefined;
    this.#given.set(name, { server, own });
    if (name !== own) this.#qualified.set(id, name);
    return name;
  }

  /** The servers of the group that have offered a name. */
  rivals(own: string, servers: readonly string[] = this.#servers()): string[] {
    const offered = this.#offered.get(this.#naming.keyOf(own));
    return offered === undefined ? [] : servers.filter((server) => offered.has(server));
  }

  /** The server that clients know for a name. */
  ownerOf(name: string): { server: string; own: string } | undefined {
    return this.#given.get(name);
  }
}
