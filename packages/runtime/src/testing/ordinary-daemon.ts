import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { openDockerRuntime } from '../docker/docker.ts';
import type { EgressDecision, Traffic } from '../egress.ts';
import { type OutboundRules, Rules } from '../outbound-rules.ts';
import type { Instance, InstanceAddress, Launch } from '../runtime.ts';

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
  | { is: 'resolved'; id: number; addresses: readonly string[] | undefined }
  | { is: 'stop'; id: number }
  | { is: 'sweep' };

/** What it tells. */
export type Told =
  | { is: 'resolve'; id: number; name: string }
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

const [socket = '', tempDir = '', image] = process.argv.slice(2);
const tell = (told: Told): void => void process.send?.(told);

const rules = new Map<number, Rules>();
const instances = new Map<number, Instance>();
const lookups = new Map<number, (addresses: readonly string[] | undefined) => void>();
let connections = 0;

const runtime = openDockerRuntime({
  daemonId: `ordinary-${randomUUID()}`,
  env: process.env,
  tempDir,
  recordsDir: tempDir,
  socket,
  ...(image !== undefined && { baseImages: { npx: { build: image, run: image } } }),
  async resolve(name) {
    const { promise, resolve } = Promise.withResolvers<readonly string[] | undefined>();
    const id = ++connections;
    lookups.set(id, resolve);
    tell({ is: 'resolve', id, name });
    const addresses = await promise;
    if (addresses === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return addresses;
  },
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
      return void rules.set(request.id, new Rules(request.rules));
    case 'resolved':
      return lookups.get(request.id)?.(request.addresses);
    case 'stop':
      await instances.get(request.id)?.[Symbol.asyncDispose]();
      return tell({ is: 'stopped', id: request.id });
    case 'sweep':
      await runtime.sweep();
      return tell({ is: 'swept' });
  }
}

async function start({ id, launch, rules: given, path }: Extract<Request, { is: 'start' }>): Promise<void> {
  rules.set(id, new Rules(given));
  const egress = {
    get rules() {
      return rules.get(id) ?? new Rules({ ports: [] });
    },
    record(decision: EgressDecision) {
      const connection = ++connections;
      tell({ is: 'decision', id, decision, connection });
      return (traffic: Traffic) => tell({ is: 'traffic', connection, traffic });
    },
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
