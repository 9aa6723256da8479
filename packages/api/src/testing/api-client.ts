import { request as httpRequest } from 'node:http';
import { createClient } from '@toolhive/contract/client';
import type { Client, Send } from '@toolhive/contract/client';

/** The typed client of a daemon at a base URL or behind a Unix socket; `called` is told of every operation. */
export function apiClient(
  where: { base: string } | { socketPath: string },
  called: (operation: string) => void = () => {},
): Client {
  const client = createClient(sendTo(where));
  return new Proxy(client, {
    get(target, name: keyof Client) {
      called(name);
      return target[name];
    },
  });
}

function sendTo(where: { base: string } | { socketPath: string }): Send {
  const address =
    'base' in where
      ? { host: new URL(where.base).hostname, port: new URL(where.base).port }
      : { socketPath: where.socketPath };
  return ({ method, path, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    const options = { ...address, method, path, agent: false, ...(signal && { signal }) };
    const host = 'base' in where ? new URL(where.base).host : 'localhost';
    const request = httpRequest({ ...options, headers: { host, ...headers } }, (response) => {
      response.setEncoding('utf8');
      resolve({
        status: response.statusCode ?? 0,
        contentType: response.headers['content-type'],
        body: response,
      });
    });
    request.on('error', reject);
    request.end(body);
    return promise;
  };
}
