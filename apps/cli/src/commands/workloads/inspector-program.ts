import { spawn } from 'node:child_process';
import { dirname, delimiter } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guard } from '../../guard.ts';

/** The official one. It is installed by npm when it is wanted for the first time. */
const inspectorPackage = '@modelcontextprotocol/inspector@2.12.0';

/** How long it gets to end by itself. */
const graceMs = 5_000;

/** The last of what it wrote is kept, to say why it could not be started. */
const keptCharacters = 4_000;

interface InspectorOptions {
  url: string;
  mode: 'sse' | 'streamable-http';
  ports: { page: number; second: number };
  token: string;
}

interface Inspector extends AsyncDisposable {
  ended: Promise<void>;
  hasEnded: () => boolean;
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
  const child = spawn('npm', npm, {
    env: {
      ...withoutOwn(process.env),
      // The Node.js that runs this is new enough; that of the system may not be.
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
      HOST: '127.0.0.1',
      CLIENT_PORT: String(ports.page),
      MCP_SANDBOX_PORT: String(ports.second),
      MCP_INSPECTOR_API_TOKEN: token,
      MCP_AUTO_OPEN_ENABLED: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own, so that everything it starts can be ended with it.
    detached: true,
  });
  let output = '';
  let isOver = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-keptCharacters)));
  }
  const guarded = child.pid === undefined ? undefined : guard(child.pid);
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      isOver = true;
      resolve();
    };
    child.once('exit', end);
    child.once('error', (error) => {
      output += `${error.message}\n`;
      end();
    });
  });
  return {
    ended,
    hasEnded: () => isOver,
    lastLine: () => output.replaceAll(token, '…').trim().split('\n').at(-1) ?? '',
    async [Symbol.asyncDispose]() {
      const { pid } = child;
      if (pid === undefined) return;
      signalGroup(pid, 'SIGTERM');
      await Promise.race([groupEnded(pid), delay(graceMs, undefined, { ref: false })]);
      signalGroup(pid, 'SIGKILL');
      await ended;
      guarded?.[Symbol.dispose]();
    },
  };
}

/** Everything but what ToolHive itself is told by variables: some of that is secret. */
function withoutOwn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TOOLHIVE_')));
}

/** False when no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false; // it has ended
  }
}

async function groupEnded(pid: number): Promise<void> {
  while (signalGroup(pid, 0)) await delay(50);
}
