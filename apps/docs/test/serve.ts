import { listenOnTcp } from '@toolhive/api/listen';
import { openSite } from '@toolhive/api/site';
import { Hono } from 'hono';

/** Serves the pages in a folder as the daemon does. */
export async function serve(folder: string): Promise<AsyncDisposable & { address: string }> {
  const app = new Hono();
  const site = openSite(folder);
  app.get('*', async ({ req }) => (await site.answer(req.raw)) ?? new Response(null, { status: 404 }));
  const server = await listenOnTcp(app, { host: '127.0.0.1', port: 0 });
  return {
    address: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
