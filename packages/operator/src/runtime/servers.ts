import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server with fixed answers by path. */
export interface PlainServer extends AsyncDisposable {
  port: number;
}

/** An answer: a status code and a text. */
export type Answer = () => Promise<{ code: number; text: string; contentType?: string }>;

/** Listens on an address such as `:8080` or `127.0.0.1:0`. */
export async function listen(address: string, answers: Record<string, Answer>): Promise<PlainServer> {
  const separator = address.lastIndexOf(':');
  const host = address.slice(0, separator).replaceAll(/[[\]]/g, '');
  const port = Number(address.slice(separator + 1));
  if (separator === -1 || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`invalid address ${address}: expected HOST:PORT or :PORT`);
  }
  const server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?'); // not every target is a URL
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
    const end = (code: number, text: string, contentType = 'text/plain; charset=utf-8'): void => {
      response.writeHead(code, { 'content-type': contentType }).end(text);
    };
    if (answer === undefined) end(404, 'not found\n');
    else
      answer().then(
        ({ code, text, contentType }) => end(code, text, contentType),
        () => end(500, 'internal server error\n'),
      );
  });
  server.listen(port, ...(host === '' ? [] : [host]));
  await once(server, 'listening');
  server.on('error', () => {}); // one connection could not be accepted
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}
