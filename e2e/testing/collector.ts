import { execFile, spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { goEnvironment } from '@toolhive/operator/testing/control-plane';
import { testPort } from '@toolhive/testing/port';
import { isInstalled } from '@toolhive/testing/machine';
import { root } from './thv.ts';

/** Go from the PATH, or from the directory in which its own packages install it. */
const go = isInstalled('go') ? 'go' : '/usr/local/go/bin/go';

/** Whether this machine can build the collector. */
export const hasGo = await access(go === 'go' ? '/' : go).then(
  () => true,
  () => false,
);

/** The OTLP receiver of the OpenTelemetry Collector, and what it has received, as OTLP JSON. */
interface Collector extends AsyncDisposable {
  /** Its host and port. */
  endpoint: string;
  received: OtlpJson[];
}

interface Attribute {
  key: string;
  value: { stringValue?: string };
}

/** The parts of OTLP JSON that tests read. */
interface OtlpJson {
  resourceSpans?: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: { name: string; traceId: string; kind: number; attributes: Attribute[] }[] }[];
  }[];
  resourceMetrics?: { scopeMetrics: { metrics: { name: string; histogram?: object }[] }[] }[];
}

/** Builds the collector from Go modules, once, and starts it. */
export async function startCollector(): Promise<Collector> {
  const program = join(root, '.cache/collector');
  await promisify(execFile)(go, ['build', '-o', program, '.'], {
    cwd: join(root, 'e2e/testing/collector'),
    env: { ...process.env, ...goEnvironment },
  });
  const endpoint = `127.0.0.1:${await testPort()}`;
  const child = spawn(program, [endpoint], { stdio: ['ignore', 'pipe', 'inherit'] });
  const received: OtlpJson[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  child.once('close', () => reject(new Error('the collector has ended')));
  createInterface(child.stdout).on('line', (line) => {
    if (line === 'ready') resolve();
    else received.push(JSON.parse(line) as OtlpJson);
  });
  await ready;
  return {
    endpoint,
    received,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT');
      await ended;
    },
  };
}
