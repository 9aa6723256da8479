import * as z from 'zod';

/** A page of a list of servers. */
export interface ListPage {
  servers: unknown[];
  /** Where the next page is. */
  next?: { cursor: string } | { address: string };
  /** The number of servers on all pages, if the list contains it. */
  total?: number;
}

const Listed = z.looseObject({ server: z.looseObject({ name: z.string() }) });
const Single = z
  .looseObject({ name: z.string() })
  .refine((value) => ['packages', 'remotes', 'version', 'version_detail'].some((key) => key in value));

/** Whether a value is a server in the MCP registry's format, or an item of its list. */
export function isListing(value: unknown): boolean {
  return Listed.safeParse(value).success || Single.safeParse(value).success;
}

const Members = z.record(z.string(), z.unknown());
type Members = z.infer<typeof Members>;

/** How other programs than the MCP registry call the list. */
const listNames = ['data', 'items', 'results'];
/** The members in which the place of the next page can be. */
const pageNames = ['metadata', 'meta', 'pagination', 'paging', 'page_info', 'pageInfo', 'links', '_links'];

/** The servers in a page as the MCP registry sends it, or as companies publish it. Undefined for another document. */
export function listPage(document: unknown): ListPage | undefined {
  const outer = Members.safeParse(document).data;
  if (outer === undefined) return undefined;
  const inner = listNames.map((name) => Members.safeParse(outer[name]).data).find((found) => found);
  const servers = serversIn(outer) ?? (inner && serversIn(inner));
  if (servers === undefined) return undefined;
  const about = [outer, inner ?? {}].flatMap((members): Members[] => [
    members,
    ...pageNames.flatMap((name) => {
      const inside = Members.safeParse(members[name]).data;
      return inside === undefined ? [] : [inside];
    }),
  ]);
  const next = nextOf(about);
  const total = about.map(totalOf).find((number) => number !== undefined);
  return { servers, ...(next === undefined ? {} : { next }), ...(total === undefined ? {} : { total }) };
}

/** Whether a page is a list without servers. */
export function isEmptyPage(document: unknown): boolean {
  const outer = Members.safeParse(document).data ?? {};
  return ['servers', ...listNames].some((name) => Array.isArray(outer[name]) && outer[name].length === 0);
}

function serversIn(members: Members): unknown[] | undefined {
  const { servers } = members;
  if (Array.isArray(servers)) return servers;
  // Other documents have such members, too.
  return listNames
    .map((name) => members[name])
    .find((list) => Array.isArray(list) && list.some(isListing)) as unknown[] | undefined;
}

function nextOf(about: readonly Members[]): ListPage['next'] {
  for (const { nextCursor, next_cursor, next } of about) {
    const cursor = [nextCursor, next_cursor].find((text) => typeof text === 'string' && text !== '');
    if (typeof cursor === 'string') return { cursor };
    const address = Members.safeParse(next).data?.['href'] ?? next;
    if (typeof address === 'string' && /^(?:https?:\/)?\/|^\?/.test(address)) return { address };
  }
  return undefined;
}

function totalOf({ total, total_count, totalCount }: Members): number | undefined {
  return [total, total_count, totalCount].find((number) => typeof number === 'number');
}
