import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { operatorFlags } from '../../scripts/build-operator.ts';
import { grantPermissions, operatorAccount } from './operator-account.ts';

/** An operator as a process. Disposing kills the process if it still runs. */
export interface RunningOperator extends AsyncDisposable {
  child: ChildProcess;
  /** All lines of the log so far. */
  lines: string[];
  /** Resolves when a line contains a text. Rejects when the process ends before. */
  says: (text: string) => Promise<string>;
  /** Kills the process without warning. */
  kill: () => Promise<void>;
  /** The exit code, or null if a signal ended the process. */
  exitCode: Promise<number | null>;
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>;
}

/** The program of the image. Loading the source takes twice the processor time. */
const built = new URL('../../apps/operator/dist/operator.js', import.meta.url).pathname;

/** Starts an operator with the permissions of the Helm chart, as the service account of the chart. */
export async function startOperator(
  cluster: ControlPlane,
  options: {
    env?: Record<string, string>;
    args?: readonly string[];
    kubeconfig?: string;
  } = {},
): Promise<RunningOperator> {
  const kubeconfig = options.kubeconfig ?? (await accountOf(cluster));
  const child = spawn(
    process.execPath,
    [
      ...operatorFlags,
      built,
      '--metrics-bind-address=127.0.0.1:0',
      '--health-probe-bind-address=127.0.0.1:0',
      ...(options.args ?? []),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KUBECONFIG: kubeconfig,
        POD_NAMESPACE: 'default',
        ...options.env,
      },
    },
  );
  const lines: string[] = [];
  const waiting: { text: string; resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const waiter of waiting) if (line.includes(waiter.text)) waiter.resolve(line);
    });
  }
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const ended = (text: string): Error =>
    new Error(`the operator ended before "${text}":\n${lines.join('\n')}`);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.once('exit', () => {
    for (const { text, reject } of waiting) reject(ended(text));
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (hasEnded()) return child.exitCode;
    child.kill(signal);
    const [code] = await exited;
    return code;
  };
  const running: RunningOperator = {
    child,
    lines,
    exitCode: exited.then(([code]) => code),
    async says(text) {
      const said = lines.find((line) => line.includes(text));
      if (said !== undefined) return said;
      if (hasEnded()) throw ended(text);
      return new Promise((resolve, reject) => waiting.push({ text, resolve, reject }));
    },
    async kill() {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL');
    },
  };
  return running;
}

async function accountOf(cluster: ControlPlane): Promise<string> {
  await grantPermissions(cluster);
  return (await operatorAccount(cluster)).path;
}

/** The answer of a server of an operator, whose address is in the log. */
export async function askOperator(
  operator: RunningOperator,
  path: string,
): Promise<{ status: number; text: string }> {
  const line = JSON.parse(await operator.says('"listening"')) as { metricsPort: number; probePort: number };
  const port = path === '/metrics' ? line.metricsPort : line.probePort;
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

/** How many passes a controller has ended, successful or not. */
export async function passesOf(operator: RunningOperator, controller: string): Promise<number> {
  const { text } = await askOperator(operator, '/metrics');
  const counts = text.matchAll(
    new RegExp(`^controller_runtime_reconcile_total\\{controller="${controller}",[^}]*\\} (\\d+)$`, 'gm'),
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
