import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveHttp } from 'toolhive-test-servers/conformance';
import type { AuthorizationServer } from './authorization-server.ts';

/** A remote server, perhaps one that lets in only those with a token, which remembers what it was sent. */
export async function openRemoteServer(
  generation: 'legacy' | 'modern',
  authority?: Pick<AuthorizationServer, 'issuer' | 'isValid'>,
) {
  const server = await serveHttp(generation, { host: '127.0.0.1', port: 0 });
  const seen: IncomingHttpHeaders[] = [];
  const gate = createServer((request, response) => {
    seen.push(request.headers);
    const { port } = gate.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const described = { resource: `${origin}/mcp`, authorization_servers: [authority?.issuer] };
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify(described));
    }
    if (authority !== undefined && !authority.isValid(request.headers.authorization)) {
      return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    }
    const { host: _host, ...headers } = request.headers;
    // A kept connection may be closed by the server while a request is on its way.
    const onward = httpRequest(server.url, { method: request.method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    return request.pipe(onward);
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  const { port } = gate.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    async [Symbol.asyncDispose]() {
      gate.closeAllConnections();
      await new Promise((resolve) => gate.close(resolve));
      await server[Symbol.asyncDispose]();
    },
  };
}
