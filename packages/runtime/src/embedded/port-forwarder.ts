// Runs in a container's network namespace, or in that of its gateway: receives a listening socket from the daemon, and
// forwards its connections to the server's port at the first address that answers. Ends with the daemon.
import { forward } from './forward.ts';
import { acceptFrom } from './received-listener.ts';

const [port, ...hosts] = process.argv.slice(1);
const targets = hosts.map((host) => ({ host, port: Number(port) }));

process.stdin.resume().on('end', () => process.exit());
process.once('message', (_message, listener) => acceptFrom(listener, (outer) => forward(outer, targets)));
