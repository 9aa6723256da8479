import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { openDockerRuntime } from '../docker/docker.ts';
import type { EgressDecision, Traffic } from '../egress.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import type { OutboundRules } from '../outbound-rules.ts';
import type { Instance, InstanceAddress, Launch } from '../runtime.ts';
import { TestEgress } from './test-egress.ts';

/** A request to the program of this file, which is a part of a daemon that runs as another user. */
export type Request =
  | {
      is: 'start';
      id: number;
      launch: Omit<Launch, 'network' | 'log' | 'secrets'>;
      rules: OutboundRules;
      path: string;
    }
  | { is: 'rules'; id: number; rules: OutboundRules }
  | { is: 'stop'; id: number }
  | { is: 'kill gateways' }
  | { is: 'sweep' };

/** What it tells. */
export type Told =
  | {
      is: 'started';
      id: number;
      uid: number | undefined;
      limits: readonly string[];
      address?: InstanceAddress;
    }
  | { is: 'failed'; id: number; message: string }
  | { is: 'decision'; id: number; decision: EgressDecision; connection: number }
  | { is: 'traffic'; connection: number; traffic: Traffic }
  | { is: 'stopped'; id: number }
  | { is: 'swept' };

const [socket = '', tempDir = '', nameServer = '', image] = process.argv.slice(2);
const tell = (told: Told): void => void process.send?.(told);

const egresses = new Map<number, TestEgress>();
const instances = new Map<number, Instance>();
let connections = 0;

const gateways = new GatewayProcess(nameServer === '' ? {} : { nameServers: [nameServer] });
const runtime = openDockerRuntime({
  daemonId: `ordinary-${randomUUID()}`,
  env: process.env,
  tempDir,
  recordsDir: tempDir,
  socket,
  ...(image !== undefined && { baseImages: { npx: { build: image, run: image } } }),
  gateways,
});

process.on('message', (request: Request) => void handle(request));
process.on('disconnect', () => process.exit());

async function handle(request: Request): Promise<void> {
  switch (request.is) {
    case 'start':
      return start(request).catch((error: unknown) =>
        tell({ is: 'failed', id: request.id, message: String(error) }),
      );
    case 'rules':
      return egresses.get(request.id)?.change(request.rules);
    case 'stop':
      await instances.get(request.id)?.[Symbol.asyncDispose]();
      return tell({ is: 'stopped', id: request.id });
    case 'kill gateways':
      return void process.kill((await gateways.pid()) ?? 0, 'SIGKILL');
    case 'sweep':
      await runtime.sweep();
      return tell({ is: 'swept' });
  }
}

async function start({ id, launch, rules: given, path }: Extract<Request, { is: 'start' }>): Promise<void> {
  const egress = new TestEgress();
  await egress.change(given);
  egresses.set(id, egress);
  egress.record = (decision) => {
    const connection = ++connections;
    tell({ is: 'decision', id, decision, connection });
    return (traffic) => tell({ is: 'traffic', connection, traffic });
  };
  const network = { kind: 'rules', egress } as const;
  const instance = await runtime.start(
    { ...launch, secrets: {}, network, log: () => {} },
    new AbortController().signal,
  );
  instances.set(id, instance);
  if (instance.stdio !== undefined) await offer(instance.stdio, join(tempDir, path));
  const limits = (instance.limits ?? []).map(({ text }) => text);
  const { address } = instance;
  tell({ is: 'started', id, uid: process.getuid?.(), limits, ...(address && { address }) });
}

/** Lets the test speak with a server through a Unix socket. */
async function offer({ input, output }: NonNullable<Instance['stdio']>, path: string): Promise<void> {
  const listener = createServer((client: Socket) => {
    client.on('error', () => {});
    client.pipe(input);
    output.pipe(client);
    listener.close();
  });
  await once(listener.listen(path), 'listening');
}
