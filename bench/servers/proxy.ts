// Our proxy in front of a server that speaks HTTP, which is a separate process: `node proxy.ts PORT [TOOL…]`.
// With tools, the proxy filters lists and therefore reads the messages.
import type { Instance } from '@toolhive/runtime/runtime';
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';

const [serverPort, ...filter] = process.argv.slice(2);
const { proxy, port } = await openProxy('streamable-http', { filter });
const server: Instance = {
  id: 'bench',
  address: { kind: 'tcp', host: '127.0.0.1', port: Number(serverPort) },
  exited: new Promise(() => {}),
  stop: async () => {},
  [Symbol.asyncDispose]: async () => {},
};
await proxy.connect(server, async () => server, new AbortController().signal);
serveParent({ port });
