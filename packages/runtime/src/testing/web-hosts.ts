import type dgramModule from 'node:dgram';
import type httpModule from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type httpsModule from 'node:https';
import type netModule from 'node:net';
import type { Server } from 'node:net';
import { selfSigned } from './self-signed.ts';
import { type StandInHosts, openStandInHosts } from './stand-in-hosts.ts';

/**
 * Hosts that serve HTTP on port 80, HTTPS on 443 (for any name, with a certificate that nobody vouches for), and a line
 * of text on 5432 and 2222. They answer what they were asked, and remember every visit.
 */
export interface WebHosts extends StandInHosts {
  /** What has arrived at an address so far: `http a.example /path`, `tcp 5432`, `udp 53`. */
  visits(address: string): Promise<string[]>;
}

export async function openWebHosts(count: number): Promise<WebHosts> {
  const hosts = await openStandInHosts(program(), count);
  return {
    ...hosts,
    async visits(address) {
      const response = await fetch(`http://${address}:9999/`);
      return (await response.json()) as string[];
    },
  };
}

function program(): string {
  const { key, certificate } = selfSigned('example.test');
  return `
const pem = ${JSON.stringify(key + certificate)};
${serveHosts.toString()}
serveHosts(process.argv.slice(1), pem, require);
`;
}

/** Runs in the other namespace, as text: it must not use anything of this file. */
function serveHosts(addresses: string[], pem: string, load: NodeJS.Require): void {
  const net = load('node:net') as typeof netModule;
  const http = load('node:http') as typeof httpModule;
  const https = load('node:https') as typeof httpsModule;
  const dgram = load('node:dgram') as typeof dgramModule;
  let missing = 0;
  const ready = (): void => {
    missing -= 1;
    if (missing === 0) process.stdout.write('ready\n');
  };
  for (const address of addresses) {
    const visits: string[] = [];
    const answer =
      (scheme: string) =>
      (request: IncomingMessage, response: ServerResponse): void => {
        visits.push(`${scheme} ${request.headers.host ?? ''} ${request.url ?? ''}`);
        if (request.url?.startsWith('/status/') === true)
          return void request.socket.end(
            `HTTP/1.1 ${request.url.slice(8)} Odd\r\nContent-Length: 2\r\n\r\nok`,
          );
        if (request.url === '/big') {
          const chunk = Buffer.alloc(1 << 20);
          let left = Number(request.headers['x-mebibytes'] ?? 64);
          const more = (): void => {
            for (; left > 0; left -= 1) if (!response.write(chunk)) return void (left -= 1);
            response.end();
          };
          response.on('drain', more);
          more();
          return;
        }
        let received = 0;
        request.on('data', (chunk: Buffer) => (received += chunk.length));
        request.on('end', () =>
          response.end(`${scheme} ${request.headers.host} at ${address}, ${received} bytes`),
        );
      };
    const servers = [
      [http.createServer(answer('http')), 80],
      [https.createServer({ key: pem, cert: pem }, answer('https')), 443],
      [http.createServer((_request, response) => response.end(JSON.stringify(visits))), 9999],
      ...[5432, 2222].map((port) => [
        net.createServer((socket) => {
          visits.push(`tcp ${port}`);
          socket.on('error', () => {});
          socket.end(`hello from ${address}:${port}\n`);
        }),
        port,
      ]),
    ] as [Server, number][];
    for (const [server, port] of servers) {
      missing += 1;
      server.listen(port, address, ready);
    }
    for (const port of [53, 443]) {
      missing += 1;
      const socket = dgram.createSocket('udp4');
      socket.on('message', () => void visits.push(`udp ${port}`));
      socket.bind(port, address, ready);
    }
  }
}
