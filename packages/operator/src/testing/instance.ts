import { execFile, spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { auditLog } from './audit-log.ts';
import type { AuditedWrite } from './audit-log.ts';
import { Etcd } from './etcd.ts';
import type { Snapshot } from './etcd.ts';

const run = promisify(execFile);
const script = new URL('../../control-plane/control-plane.sh', import.meta.url).pathname;
/** The first build compiles all of Kubernetes. */
const BUILD_TIMEOUT_MS = 20 * 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Controllers that react to a cleaning may write once more. */
const MAX_CLEANINGS = 20;

/** Builds the programs of the control plane if the cache lacks them, and returns their folder. */
export async function buildControlPlane(): Promise<string> {
  const { stdout } = await run(script, ['build'], { timeout: BUILD_TIMEOUT_MS });
  return stdout.trim();
}

/** Starts the processes of a control plane. They end with this process, however it ends. */
export async function startInstance(): Promise<Instance> {
  const programs = await buildControlPlane();
  const network = freeNetwork();
  const start = async (): Promise<Instance> => {
    const state = join(tmpdir(), `thv-cp-${randomBytes(6).toString('hex')}`);
    return new Instance({ programs, network, state, holder: await hold(state, network) });
  };
  return start().catch(start); // another program may have taken the port in the meantime
}

type Holder = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts a process that stops the control plane when its standard input ends. */
async function hold(state: string, network: string): Promise<Holder> {
  const holder = spawn(script, ['hold'], {
    env: environmentOf(state, network),
    detached: true, // Ctrl-C does not reach it
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  holder.stderr.setEncoding('utf8').on('data', (told: string) => {
    errors += told;
    process.stderr.write(told); // also when an API server crashes later
  });
  const [first] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')])) as [unknown];
  if (!Buffer.isBuffer(first)) throw new Error(`the control plane did not start: ${errors}`);
  holder.unref();
  for (const stream of [holder.stdin, holder.stdout, holder.stderr]) (stream as Socket).unref();
  return holder;
}

function environmentOf(state: string, network: string, controllers: readonly string[] = []) {
  return {
    ...process.env,
    CONTROL_PLANE_STATE: state,
    CONTROL_PLANE_NETWORK: network,
    CONTROL_PLANE_CONTROLLERS: controllers.join(','),
  };
}

/** A running control plane, whose objects can be made those of a new one. */
export class Instance {
  readonly state: string;
  /** The first two bytes of the addresses of Services. */
  readonly network: string;
  readonly kubeconfig: string;
  readonly env: { KUBECONFIG: string; KUBECACHEDIR: string; GOGC: string; GOMAXPROCS: string };
  /** Returns all writes so far, oldest first. */
  readonly writes: () => Promise<AuditedWrite[]>;
  readonly #programs: string;
  readonly #holder: Holder;
  readonly #etcd: Etcd;
  #controllers: readonly string[] = [];
  #snapshot: Snapshot | undefined;
  #names = 0;

  constructor(parts: { programs: string; state: string; network: string; holder: Holder }) {
    this.state = parts.state;
    this.network = parts.network;
    this.#programs = parts.programs;
    this.#holder = parts.holder;
    this.#etcd = new Etcd(this.state);
    this.kubeconfig = join(this.state, 'admin.kubeconfig');
    this.env = {
      KUBECONFIG: this.kubeconfig,
      KUBECACHEDIR: join(this.state, 'kubectl'),
      // A command ends before it needs a collection of garbage: a fifth of its processor time.
      GOGC: '400',
      GOMAXPROCS: '1',
    };
    this.writes = auditLog(join(this.state, 'audit.jsonl'));
  }

  readonly kubectl = async (args: readonly string[], input?: string): Promise<string> => {
    const running = run(join(this.#programs, 'kubectl'), args, {
      env: { ...process.env, ...this.env },
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout.trim();
  };

  /** Returns a name for a namespace that none has had before. */
  newName(): string {
    this.#names += 1;
    return `test-${this.#names}`;
  }

  /** Kills processes and starts them again. */
  async restart(...processes: readonly string[]): Promise<void> {
    const env = environmentOf(this.state, this.network, this.#controllers);
    await run(script, ['restart', ...processes], { env });
  }

  async useControllers(controllers: readonly string[]): Promise<void> {
    if (controllers.join() === this.#controllers.join()) return;
    this.#controllers = controllers;
    await this.restart('kube-controller-manager');
  }

  compact(): Promise<void> {
    return this.#etcd.compact();
  }

  /** Keeps the current objects for `clean`. */
  async remember(): Promise<void> {
    this.#snapshot = await this.#etcd.snapshot();
  }

  /** Restores the remembered objects, and returns false if that is impossible. */
  async clean(): Promise<boolean> {
    if (this.#snapshot === undefined) return false;
    for (let count = 0; count < MAX_CLEANINGS; count += 1) {
      const changes = await this.#etcd.restore(this.#snapshot);
      if (changes === undefined) return false;
      if (changes === 0) return true;
    }
    return false;
  }

  /** Ends all processes and removes the data. */
  async stop(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    this.#holder.ref();
    const exited = once(this.#holder, 'exit');
    this.#holder.stdin.end();
    await exited;
  }
}

/**
 * The first two bytes of a range for Services that no interface of this machine uses. Tests run pods as containers in this
 * range, and a bridge that a killed engine left takes all their packets.
 */
function freeNetwork(): string {
  const used = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address),
  );
  const networks = Array.from({ length: 16 }, (_, index) => `10.${96 + 2 * index}`);
  const free = networks.find((network) => !used.some((address) => address.startsWith(`${network}.`)));
  if (free === undefined) throw new Error('interfaces of this machine use all networks for Services');
  return free;
}
