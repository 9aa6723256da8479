import { dirname, delimiter } from 'node:path';
import { startGroup } from '../../process-group.ts';
import type { ProcessGroup } from '../../process-group.ts';

/** The official MCP Inspector. npm installs it on first use. */
const inspectorPackage = '@modelcontextprotocol/inspector@2.12.0';

/** How much of its output is kept to explain a failed start. */
const keptCharacters = 4_000;

interface InspectorOptions {
  url: string;
  mode: 'sse' | 'streamable-http';
  ports: { page: number; second: number };
  token: string;
}

interface Inspector extends Pick<ProcessGroup, 'ended' | 'hasEnded' | typeof Symbol.asyncDispose> {
  lastLine: () => string;
}

/** Starts the inspector for one server, on loopback, with a token for its page. Disposal ends all its processes. */
export function startInspector({ url, mode, ports, token }: InspectorOptions): Inspector {
  const transport = mode === 'sse' ? 'sse' : 'http';
  const words = ['--web', '--transport', transport, '--server-url', url];
  // The inspector does not need compiled packages, so no package scripts run.
  const npm = [
    'exec',
    '--yes',
    '--ignore-scripts',
    `--package=${inspectorPackage}`,
    '--',
    'mcp-inspector',
    ...words,
  ];
  const group = startGroup('npm', npm, {
    ...withoutOwn(process.env),
    // The current Node.js is new enough. The system's may not be.
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
    HOST: '127.0.0.1',
    CLIENT_PORT: String(ports.page),
    MCP_SANDBOX_PORT: String(ports.second),
    MCP_INSPECTOR_API_TOKEN: token,
    MCP_AUTO_OPEN_ENABLED: 'false',
  });
  let output = '';
  for (const stream of group.output) {
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-keptCharacters)));
  }
  return {
    ended: group.ended,
    hasEnded: group.hasEnded,
    lastLine: () => output.replaceAll(token, '…').trim().split('\n').at(-1) ?? '',
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  };
}

/** The environment without ToolHive's own variables, some of which are secret. */
function withoutOwn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TOOLHIVE_')));
}
