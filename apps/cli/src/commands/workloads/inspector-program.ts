import { dirname, delimiter } from 'node:path';
import { startGroup } from '../../process-group.ts';
import type { ProcessGroup } from '../../process-group.ts';

/** The official one. It is installed by npm when it is wanted for the first time. */
const inspectorPackage = '@modelcontextprotocol/inspector@2.12.0';

/** The last of what it wrote is kept, to say why it could not be started. */
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

/** Starts the inspector for one server, on loopback, with a token that its page asks for. Disposing of it ends all of it. */
export function startInspector({ url, mode, ports, token }: InspectorOptions): Inspector {
  const transport = mode === 'sse' ? 'sse' : 'http';
  const words = ['--web', '--transport', transport, '--server-url', url];
  // Packages that need to be compiled are none that it cannot do without, so no script of any package is run.
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
    // The Node.js that runs this is new enough; that of the system may not be.
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

/** Everything but what ToolHive itself is told by variables: some of that is secret. */
function withoutOwn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TOOLHIVE_')));
}
