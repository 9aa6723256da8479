/** The gateway address in a server's namespace, which also resolves names. */
export const RESOLVER_ADDRESS = '198.18.0.1';

/** The server address in its namespace. */
export const SERVER_ADDRESS = '198.18.0.2';

const resolverOptions = ['timeout:2', 'attempts:1'];

/**
 * How the programs of a server resolve names: without a search list, which would make the queried name another one than
 * they connect to.
 */
export const resolverSettings = {
  options: resolverOptions,
  /** The text of `/etc/resolv.conf`. */
  text: `nameserver ${RESOLVER_ADDRESS}\noptions ${resolverOptions.join(' ')}\n`,
};

/** What `connectingScript` writes at last, in a line. */
export const outcomes = { connected: 'connected', failed: 'failed' };

/**
 * Runs in a gateway's namespace, with the server's namespace as descriptor 4: becomes the command in its arguments
 * after the first two (`ip` and `nsenter`), connects the two namespaces, and reports the result.
 *
 * The route makes every address local in the gateway's namespace. It is in the table `main`, because the table
 * `local` would also capture the replies. The large MTU makes streams faster, because no real network connects the
 * two.
 */
export const connectingScript = `ip=$1 nsenter=$2
shift 2
connect() {
"$ip" -batch - <<'GATEWAY' && "$nsenter" --net=/proc/self/fd/4 "$ip" -batch - <<'SERVER'
link set lo up
link add gateway type veth peer name eth0 netns /proc/self/fd/4
addr add ${RESOLVER_ADDRESS}/30 dev gateway
link set gateway mtu 65535 up
route add local default dev lo table main
GATEWAY
link set lo up
addr add ${SERVER_ADDRESS}/30 dev eth0
link set eth0 mtu 65535 up
route add default via ${RESOLVER_ADDRESS}
SERVER
}
if connect 2>&1; then echo ${outcomes.connected}; else echo ${outcomes.failed}; fi &
exec "$@"`;

/**
 * Opens a gateway's sockets and sends them to the daemon as soon as the daemon reports that the namespaces are
 * connected. Plain JavaScript, because it is an argument of Node.js. The resolver listens on a separate address,
 * because clients ignore replies from other addresses.
 */
export const helperSource = `'use strict';
const dgram = require('node:dgram');
const { once } = require('node:events');
const net = require('node:net');

const [ports] = process.argv.slice(1);
const resolver = '${RESOLVER_ADDRESS}';
process.stdin.resume().on('close', () => process.exit(1)); // the daemon has ended

async function main() {
  await once(process, 'message');
  const listeners = ports.split(',').map((port) => net.createServer().listen({ port: Number(port), host: '0.0.0.0' }));
  const lookups = net.createServer().listen({ port: 53, host: resolver });
  const datagrams = dgram.createSocket('udp4').bind(53, resolver);
  await Promise.all([datagrams, lookups, ...listeners].map((socket) => once(socket, 'listening')));
  process.send('datagrams', datagrams);
  process.send('lookups', lookups);
  for (const listener of listeners) process.send('listener', listener);
  await once(process, 'message');
}

main().then(
  () => process.exit(0),
  (error) => process.send(error.message, () => process.exit(1)),
);
`;
