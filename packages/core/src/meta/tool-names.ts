import type { Visible } from './directory.ts';

/** What separates a server from its tool in a qualified name. Names of servers and tools can also contain it. */
const separator = '__';

/** A tool of one server, or without a server of any. */
export interface NamedTool {
  server?: string;
  name: string;
}

/**
 * Returns the possible meanings of a name. A name with the separator always begins with its server, even if no server of that
 * name runs. Otherwise a server could take over the names of another one that is stopped.
 */
export function readingsOf(name: string): readonly NamedTool[] {
  const readings: NamedTool[] = [];
  for (let at = name.indexOf(separator, 1); at !== -1; at = name.indexOf(separator, at + 1)) {
    const own = name.slice(at + separator.length);
    if (own !== '') readings.push({ server: name.slice(0, at), name: own });
  }
  return readings.length === 0 ? [{ name }] : readings;
}

/** In a server, a tool has its own name, or the name that begins with the server. */
export function readingsIn(server: string, name: string): readonly NamedTool[] {
  const prefix = `${server}${separator}`;
  const own = { server, name };
  return name.startsWith(prefix) ? [own, { server, name: name.slice(prefix.length) }] : [own];
}

/** The names that several servers offer, or have offered before. */
export function sharedNames({ views, owners }: Visible): ReadonlySet<string> {
  const servers = new Map<string, Set<string>>();
  for (const [id, { member }] of views) {
    const name = id.slice(member.name.length + 1);
    servers.set(name, (servers.get(name) ?? new Set(owners.get(name))).add(member.name));
  }
  return new Set([...servers].flatMap(([name, own]) => (own.size > 1 ? [name] : [])));
}

/**
 * The name with which `call_tool` finds a tool: with its server where several servers have a tool of that name, unless
 * the qualified name could be read in several ways.
 */
export function callName(server: string, name: string, shared: ReadonlySet<string>): string {
  const qualified = `${server}${separator}${name}`;
  return shared.has(name) && readingsOf(qualified).length === 1 ? qualified : name;
}

/** Whether a name leads to a tool without `server_name`. */
export function isEnough(
  name: string,
  { server, shared }: { server: string; shared: ReadonlySet<string> },
): boolean {
  const [reading, other] = readingsOf(name);
  if (reading === undefined || other !== undefined) return false;
  return reading.server === undefined ? !shared.has(name) : reading.server === server;
}
