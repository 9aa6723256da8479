/** Where a server resolves names: the gateway address of a container, and a loopback address in a sandbox. */
export const RESOLVER_ADDRESS = '198.18.0.1';

/** The address of a container in the network with its gateway. */
export const SERVER_ADDRESS = '198.18.0.2';

/** The address of the gateway that all sandboxes share. */
const SHARED_GATEWAY_ADDRESS = '198.18.0.3';

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
 * What `ip` does in a gateway's namespace. The route makes every address local there. It is in the table `main`,
 * because the table `local` would also capture the replies. The large MTU makes streams faster, because no real network
 * connects the two.
 */
const gatewayCommands = (serverEnd: string): string => `link set lo up
link add gateway type veth peer name ${serverEnd}
addr add ${RESOLVER_ADDRESS}/30 dev gateway
link set gateway mtu 65535 up
route add local default dev lo table main
`;

/** What `ip` does in a server's namespace, which has its end of the pair already. */
const serverCommands = `link set lo up
addr add ${SERVER_ADDRESS}/30 dev eth0
link set eth0 mtu 65535 up
route add default via ${RESOLVER_ADDRESS}
`;

/** Becomes the command in its arguments after the first two (`ip` and `nsenter`), connects, and reports the result. */
const connectingWith = (commands: string): string => `ip=$1 nsenter=$2
shift 2
connect() {
${commands}
}
if connect 2>&1; then echo ${outcomes.connected}; else echo ${outcomes.failed}; fi &
exec "$@"`;

/** Runs in a gateway's namespace, with the server's namespace as descriptor 4, and connects the two namespaces. */
export const connectingScript = connectingWith(`\
"$ip" -batch - <<'GATEWAY' && "$nsenter" --net=/proc/self/fd/4 "$ip" -batch - <<'SERVER'
${gatewayCommands('eth0 netns /proc/self/fd/4')}GATEWAY
${serverCommands}SERVER`);

/** Does the same without the server's namespace. The end for the server keeps its name and waits in the gateway's. */
export const preparingScript = (serverEnd: string): string =>
  connectingWith(`\
"$ip" -batch - <<'GATEWAY'
${gatewayCommands(serverEnd)}GATEWAY`);

/**
 * Runs in the namespace that the gateways of all sandboxes share, and lets everything that arrives end there. The
 * kernel forwards nothing from one sandbox to another, whatever the machine's settings for forwarding are. Only
 * replies, which begin there, take the routes of the table `main`, which lead to the sandboxes. A packet whose source
 * is not the address of its sandbox is dropped (`rp_filter`), so that the address identifies the sandbox.
 */
export const sharingScript = connectingWith(`\
for device in all default; do echo 1 >"/proc/sys/net/ipv4/conf/$device/rp_filter" || return 1; done
"$ip" -batch - <<'GATEWAY'
link set lo up
route add local default dev lo table local
rule add preference 100 iif lo table main
rule add preference 101 table local
rule del preference 0
GATEWAY`);

/** Runs in the shared namespace for further listeners, which need nothing else. */
export const listeningScript = connectingWith(':');

/** Runs in a sandbox's namespace, with the shared one as descriptor 4, and connects the two. */
export const joiningScript = (address: string, gatewayEnd: string): string =>
  connectingWith(`\
"$ip" -batch - <<'LINK' && "$nsenter" --net=/proc/self/fd/4 "$ip" -batch - <<'GATEWAY' && "$ip" -batch - <<'SERVER'
link add eth0 type veth peer name ${gatewayEnd} netns /proc/self/fd/4
LINK
addr add ${SHARED_GATEWAY_ADDRESS} peer ${address} dev ${gatewayEnd}
link set ${gatewayEnd} mtu 65535 up
GATEWAY
link set lo up
addr add ${RESOLVER_ADDRESS}/32 dev lo
addr add ${address} peer ${SHARED_GATEWAY_ADDRESS} dev eth0
link set eth0 mtu 65535 up
route add default via ${SHARED_GATEWAY_ADDRESS}
SERVER`);

/**
 * Runs in a server's namespace, with power over both, and fetches the server's end from the namespace of a process. The
 * arguments are `ip`, `nsenter`, the process, and the name of the end.
 */
export const fetchingScript = `exec 4</proc/self/ns/net
"$2" --net="/proc/$3/ns/net" "$1" link set "$4" netns /proc/self/fd/4 name eth0 && exec "$1" -batch - <<'SERVER'
${serverCommands}SERVER`;

/**
 * Opens a gateway's sockets and sends them to the daemon as soon as the daemon reports that the namespaces are
 * connected: one for each of the ports, and a resolver unless its address is empty. Plain JavaScript, because it is an
 * argument of Node.js. The resolver listens on a separate address, because clients ignore replies from other addresses.
 */
export const helperSource = `'use strict';
const dgram = require('node:dgram');
const { once } = require('node:events');
const net = require('node:net');

const [ports, resolver] = process.argv.slice(1);
process.stdin.resume().on('close', () => process.exit(1)); // the daemon has ended

function opening() {
  const listen = (port, host) => net.createServer().listen({ port, host, backlog: 4096 });
  const listeners = ports.split(',').filter(Boolean).map((port) => ['listener', listen(Number(port), '0.0.0.0')]);
  if (resolver === '') return listeners;
  return [['datagrams', dgram.createSocket('udp4').bind(53, resolver)], ['lookups', listen(53, resolver)], ...listeners];
}

async function main() {
  await once(process, 'message');
  const sockets = opening();
  await Promise.all(sockets.map(([, socket]) => once(socket, 'listening')));
  for (const [kind, socket] of sockets) process.send(kind, socket);
  await once(process, 'message');
}

main().then(
  () => process.exit(0),
  (error) => process.send(error.message, () => process.exit(1)),
);
`;
