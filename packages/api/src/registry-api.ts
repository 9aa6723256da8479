import { createHash } from 'node:crypto';
import {
  ThvError,
  invalid,
  messageOf,
  notFound,
  notImplemented,
  unavailable,
} from '@toolhive/contract/failure';
import type { Registry } from '@toolhive/contract/registry';
import { failureStatus, internalFailure } from '@toolhive/contract/wire';
import { publishedServers } from '@toolhive/registry/published';
import type { PublishedServer } from '@toolhive/registry/published';
import { Hono } from 'hono';
import type { Context } from 'hono';
import type { Logger } from 'pino';
import * as z from 'zod';
import { expectedFailure } from './failures.ts';

export interface RegistryApiOptions {
  /** Returns the current entries, or undefined if the source has never been read. */
  read: () => Promise<Registry | undefined>;
  /** The version of ToolHive. */
  version: string;
  log: Logger;
}

const defaultLimit = 30;
const maxLimit = 100;

/**
 * The MCP registry's API v0.1, read-only: https://github.com/modelcontextprotocol/registry. `/v0` has the same paths,
 * as in the official registry. Every server has one version. Errors are JSON objects with the member `error`.
 */
export function createRegistryApi({ read, version, log }: RegistryApiOptions): Hono {
  const app = new Hono();
  const published = new WeakMap<Registry, PublishedServer[]>();
  const servers = async (): Promise<PublishedServer[]> => {
    const registry = await read();
    if (registry === undefined) throw unavailable('the registry has not been read yet');
    const known = published.get(registry) ?? publishedServers(registry);
    published.set(registry, known);
    return known;
  };
  const one = async (context: Context): Promise<PublishedServer> => {
    const name = context.req.param('name');
    const found = (await servers()).find(({ server }) => server.name === name);
    if (found === undefined) throw notFound('Server not found');
    return found;
  };
  app.onError((error) => refusal(error, log));
  app.notFound(({ req }) => refusal(notFound(`${req.path} not found`), log));
  for (const base of ['/v0.1', '/v0']) {
    app.get(`${base}/servers`, async (context) =>
      answer(context, pageOf(await servers(), parseQuery(context.req.query()))),
    );
    app.get(`${base}/servers/:name/versions`, async (context) =>
      answer(context, { servers: [await one(context)], metadata: { count: 1 } }),
    );
    app.get(`${base}/servers/:name/versions/:version`, async (context) => {
      const found = await one(context);
      const asked = context.req.param('version');
      if (asked !== 'latest' && asked !== found.server.version) throw notFound('Server version not found');
      return answer(context, found);
    });
    app.get(`${base}/health`, (context) => context.json({ status: 'ok' }));
    app.get(`${base}/ping`, (context) => context.json({ pong: true }));
    app.get(`${base}/version`, (context) => context.json({ version }));
    app.post(`${base}/publish`, () => {
      throw notImplemented('Publishing is not supported by this registry');
    });
    app.on(['PUT', 'PATCH', 'DELETE'], `${base}/servers/:name/versions/:version`, () => {
      throw notImplemented('Changes are not supported by this registry');
    });
  }
  return app;
}

const Query = z.object({
  cursor: z.string().max(1_000).optional(),
  limit: z.coerce.number().int().min(1).optional(),
  search: z.string().max(200).optional(),
  updated_since: z.iso.datetime({ offset: true }).optional(),
  version: z.string().max(255).optional(),
});
type Query = z.infer<typeof Query>;

function parseQuery(query: Record<string, string>): Query {
  const parsed = Query.safeParse(query);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `invalid ${path.join('.')}: ${message}`);
  throw invalid(problems.join('; '));
}

/** A page of the list. A cursor names the last server of the previous page, so it survives changes of the registry. */
function pageOf(all: readonly PublishedServer[], query: Query) {
  const after = query.cursor === undefined ? undefined : nameOfCursor(query.cursor);
  const search = query.search?.toLowerCase() ?? '';
  const since = query.updated_since === undefined ? undefined : Date.parse(query.updated_since);
  const found = all.filter(
    ({ server, _meta: { 'io.modelcontextprotocol.registry/official': official } }) =>
      (after === undefined || server.name > after) &&
      server.name.toLowerCase().includes(search) &&
      (since === undefined || Date.parse(official.updatedAt ?? '') >= since) &&
      (query.version === undefined || query.version === 'latest' || query.version === server.version),
  );
  const servers = found.slice(0, Math.min(query.limit ?? defaultLimit, maxLimit));
  const last = servers.at(-1);
  return {
    servers,
    metadata: {
      ...(last === undefined || servers.length === found.length ? {} : { nextCursor: cursorOf(last) }),
      count: servers.length,
    },
  };
}

function cursorOf({ server }: PublishedServer): string {
  return Buffer.from(server.name).toString('base64url');
}

function nameOfCursor(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString('utf8');
  if (Buffer.from(name).toString('base64url') !== cursor || !name.includes('/')) {
    throw invalid('invalid cursor: use the value of nextCursor from the previous page');
  }
  return name;
}

/** Answers with JSON, or with 304 if the caller has this content already (RFC 9110, section 13.1.2). */
function answer(context: Context, body: object): Response {
  const text = JSON.stringify(body);
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const headers = { etag, 'cache-control': 'no-cache' };
  const known = (context.req.header('if-none-match') ?? '')
    .split(',')
    .map((each) => each.trim().replace(/^W\//, ''));
  if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers });
  return context.body(text, 200, { ...headers, 'content-type': 'application/json' });
}

/** The error as the official registry words it, also with the members of problem details (RFC 9457). */
function refusal(thrown: unknown, log: Logger): Response {
  const failure = expectedFailure(thrown);
  if (failure === undefined) log.error({ err: thrown, reason: messageOf(thrown) }, 'unexpected failure');
  const status = failure instanceof ThvError ? failureStatus[failure.kind].status : internalFailure.status;
  const message = failure?.message ?? internalFailure.text;
  return Response.json({ error: message, status, detail: message }, { status });
}
