import { startGroup } from '../../process-group.ts';
import type { ProcessGroup } from '../../process-group.ts';
import { inspectorEnvironment, lastOutputOf } from './inspector-install.ts';

interface InspectorOptions {
  /** Where the inspector is installed. */
  folder: string;
  url: string;
  mode: 'sse' | 'streamable-http';
  ports: { page: number; second: number };
  token: string;
}

interface Inspector extends Pick<ProcessGroup, 'ended' | 'hasEnded' | typeof Symbol.asyncDispose> {
  lastLine: () => string;
}

/** Starts the inspector for one server, on loopback, with a token for its page. Disposal ends all its processes. */
export function startInspector({ folder, url, mode, ports, token }: InspectorOptions): Inspector {
  const transport = mode === 'sse' ? 'sse' : 'http';
  const words = ['--web', '--transport', transport, '--server-url', url];
  // It is in the folder, so nothing is installed and npm needs no lock.
  const npm = ['exec', '--no', '--prefix', folder, '--', 'mcp-inspector', ...words];
  const group = startGroup('npm', npm, {
    ...inspectorEnvironment(),
    HOST: '127.0.0.1',
    CLIENT_PORT: String(ports.page),
    MCP_SANDBOX_PORT: String(ports.second),
    MCP_INSPECTOR_API_TOKEN: token,
    MCP_AUTO_OPEN_ENABLED: 'false',
  });
  const output = lastOutputOf(group.output);
  return {
    ended: group.ended,
    hasEnded: group.hasEnded,
    lastLine: () => (output().at(-1) ?? '').replaceAll(token, '…'),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  };
}
