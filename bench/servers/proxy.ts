// Our proxy in front of a server that speaks HTTP, which is a process of its own: `node proxy.ts PORT`.
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';

const { proxy, port } = await openProxy('streamable-http');
await proxy.connect(
  {
    id: 'bench',
    address: { kind: 'tcp', host: '127.0.0.1', port: Number(process.argv[2]) },
    exited: new Promise(() => {}),
    stop: async () => {},
    [Symbol.asyncDispose]: async () => {},
  },
  new AbortController().signal,
);
serveParent({ port });
