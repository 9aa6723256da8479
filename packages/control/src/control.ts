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
  /** The daemon, looked up again for every call, because it may have restarted in the meantime. */
  daemon: () => Promise<Client>;
  version: string;
  /** Who may use the server. By default, anyone who can reach it. */
  access?: ProxyAccess | undefined;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

/** ToolHive's control operations as an MCP server, until disposal. */
export interface Control extends AsyncDisposable {
  /** Of its endpoint. */
  url: string;
}

const instructions =
  'Runs MCP servers on this machine, each isolated behind a proxy. search_registry finds servers, run_server runs one, ' +
  'and its result has the URL to connect to. Values of secrets are never shown: name stored ones when you run a server.';

/** How long the handshake between the proxy and the server in this process may take. */
const handshakeMs = 10_000;

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
      sessions: 'shared', // the server keeps no client state and sends no requests
      ownOriginOnly: true, // the tools are as powerful as the API
      version,
      access,
      onFault,
      onExcess: (reason) => onFault(new Error(`the server of the tools ${reason}`)),
      onInvalidOutput: (line) => onFault(new Error(`the MCP server reported ${line.slice(0, 200)}`)),
    }),
  );
  const another = (): Promise<never> => Promise.reject(new Error('all clients share one'));
  await proxy.connect({ stdio }, another, AbortSignal.timeout(handshakeMs));
  const everything = opened.move();
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${proxy.port}/mcp`,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
