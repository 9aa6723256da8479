// Opens a gateway's sockets and sends them to the daemon as soon as the daemon reports that the namespaces are
// connected: one for each of the ports, a resolver unless its address is empty, and two for each of the local ports, on
// the loopback addresses of both families. The resolver listens on a separate address, because clients ignore replies from
// other addresses. Ends with the daemon.
import { type Socket as Datagrams, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Server, createServer } from 'node:net';

const [, ports = '', resolver = '', localPorts = ''] = process.argv;

process.stdin.resume().on('close', () => process.exit(1));

const listen = (port: number, host: string): Server => createServer().listen({ port, host, backlog: 4096 });
const numbersOf = (list: string): number[] => list.split(',').filter(Boolean).map(Number);

function open(): [kind: string, socket: Server | Datagrams][] {
  const listeners = numbersOf(ports).map((port): [string, Server] => ['listener', listen(port, '0.0.0.0')]);
  if (resolver === '') return listeners;
  const datagrams = createSocket('udp4').bind(53, resolver);
  return [['datagrams', datagrams], ['lookups', listen(53, resolver)], ...listeners];
}

/** A listener, or undefined if the kernel has no IPv6. */
async function openLocal(port: number, host: string): Promise<Server | undefined> {
  const listener = listen(port, host);
  try {
    await once(listener, 'listening');
    return listener;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException; // events of a server carry errors of the system
    if (host === '::1' && ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(code)) return undefined;
    throw error;
  }
}

async function main(): Promise<void> {
  await once(process, 'message');
  const sockets = open();
  await Promise.all(sockets.map(([, socket]) => once(socket, 'listening')));
  const local = await Promise.all(
    numbersOf(localPorts).flatMap((port) => ['127.0.0.1', '::1'].map((host) => openLocal(port, host))),
  );
  for (const [kind, socket] of sockets) process.send?.(kind, socket);
  for (const socket of local) process.send?.(socket === undefined ? 'absent' : 'local', socket);
  await once(process, 'message');
}

main().then(
  () => process.exit(0),
  (error: Error) => process.send?.(error.message, () => process.exit(1)),
);
