import { PassThrough } from 'node:stream';
import type { Client } from '@toolhive/contract/client';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyAccess } from '@toolhive/proxy/proxy';
import { ToolServer } from './tool-server.ts';
import { tools } from './tools.ts';

export interface ControlOptions {
  host: string;
  /** 0 takes any that is free. */
  port: number;
  /** The daemon, asked for anew with every call: it may have been started again meanwhile. */
  daemon: () => Promise<Client>;
  version: string;
  /** Who may use it; everybody who reaches it when nothing is said. */
  access?: ProxyAccess | undefined;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

/** The product's own control as an MCP server, until it is disposed of. */
export interface Control extends AsyncDisposable {
  /** Of its endpoint. */
  url: string;
}

const instructions =
  'Runs MCP servers on this machine, each isolated behind a proxy. search_registry finds servers, run_server runs one, ' +
  'and its result has the URL to connect to. Values of secrets are never shown: name stored ones when you run a server.';

/** How long the greeting between the proxy and the server in this process may take. */
const greetingMs = 10_000;

/**
 * Listens for MCP clients of every revision. To the proxy in front, the server is one that speaks stdio, so that
 * revisions, limits and the checks of hosts and origins are the same as for any other server.
 */
export async function openControl(options: ControlOptions): Promise<Control> {
  const { daemon, version, access, onFault } = options;
  const host = options.host === 'localhost' ? '127.0.0.1' : options.host;
  await using opened = new AsyncDisposableStack();
  const stdio = { input: new PassThrough(), output: new PassThrough() };
  opened.use(
    new ToolServer({
      ...stdio,
      tools,
      daemon,
      onFault,
      identity: { name: 'toolhive-mcp', title: 'ToolHive', version },
      instructions,
    }),
  );
  const proxy = opened.use(
    await WorkloadProxy.open({
      host,
      port: options.port,
      transport: 'stdio',
      sessions: 'shared', // it keeps nothing of a client, and asks nothing
      ownOriginOnly: true, // it is as powerful as the API
      version,
      access,
      onFault,
      onExcess: (reason) => onFault(new Error(`the server of the tools ${reason}`)),
      onInvalidOutput: (line) => onFault(new Error(`the server of the tools said ${line.slice(0, 200)}`)),
    }),
  );
  const another = (): Promise<never> => Promise.reject(new Error('all clients share one'));
  await proxy.connect({ stdio }, another, AbortSignal.timeout(greetingMs));
  const everything = opened.move();
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${proxy.port}/mcp`,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
