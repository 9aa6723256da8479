import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A web server on loopback for one test. */
export interface WebServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** The paths that were asked for. */
  readonly requests: readonly string[];
}

/** Serves the contents by their path; everything else does not exist. */
export async function openWebServer(
  contents: (origin: string) => ReadonlyMap<string, string | Buffer>,
): Promise<WebServer> {
  const requests: string[] = [];
  let files: ReadonlyMap<string, string | Buffer> = new Map();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    const content = files.get(path);
    const isJson = typeof content === 'string' && content.startsWith('{');
    const page = isJson ? 'application/vnd.pypi.simple.v1+json' : 'text/html';
    const type = path.endsWith('/') ? page : 'application/octet-stream';
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': type }).end(content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  files = contents(origin);
  return {
    origin,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
