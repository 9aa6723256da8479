// Opens a gateway's sockets and sends them to the daemon as soon as the daemon reports that the namespaces are
// connected: one for each of the ports, and a resolver unless its address is empty. The resolver listens on a separate
// address, because clients ignore replies from other addresses. Ends with the daemon.
import { type Socket as Datagrams, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Server, createServer } from 'node:net';

const [, ports = '', resolver = ''] = process.argv;

process.stdin.resume().on('close', () => process.exit(1));

function open(): [kind: string, socket: Server | Datagrams][] {
  const listen = (port: number, host: string): Server => createServer().listen({ port, host, backlog: 4096 });
  const listeners = ports
    .split(',')
    .filter(Boolean)
    .map((port): [string, Server] => ['listener', listen(Number(port), '0.0.0.0')]);
  if (resolver === '') return listeners;
  const datagrams = createSocket('udp4').bind(53, resolver);
  return [['datagrams', datagrams], ['lookups', listen(53, resolver)], ...listeners];
}

async function main(): Promise<void> {
  await once(process, 'message');
  const sockets = open();
  await Promise.all(sockets.map(([, socket]) => once(socket, 'listening')));
  for (const [kind, socket] of sockets) process.send?.(kind, socket);
  await once(process, 'message');
}

main().then(
  () => process.exit(0),
  (error: Error) => process.send?.(error.message, () => process.exit(1)),
);
