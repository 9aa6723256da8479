import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@toolhive/contract/failure';
import { hasIdentity, waitUntil } from '../proc.ts';
import { findProgram, installWith } from '../programs.ts';
import type { OpenNetwork } from '../runtime.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
import { restrictingRoutes } from './routes.ts';

/** The programs that connect a sandbox to a separate network. */
export interface NetworkTools {
  slirp4netns: string;
  nsenter: string;
  unshare: string;
  ip: string;
}

/** The means to connect a sandbox to a network. Otherwise the reason why none works and the fix. */
export type NetworkInspection = { tools: NetworkTools } | { problem: string; hint: string };

/** Looks for the programs and the device. Only a running sandbox shows whether they work. */
export async function findNetwork(env: NodeJS.ProcessEnv): Promise<NetworkInspection> {
  // Users of Debian have no folder for administrators on their PATH, and `ip` works for them nevertheless.
  const widely = { PATH: `${env.PATH ?? ''}:/usr/bin:/bin:/usr/sbin:/sbin` };
  const [slirp4netns, nsenter, unshare, ip] = await Promise.all([
    findProgram('slirp4netns', env),
    findProgram('nsenter', widely),
    findProgram('unshare', widely),
    findProgram('ip', widely),
  ]);
  if (slirp4netns === undefined) return missing('slirp4netns', 'slirp4netns');
  if (nsenter === undefined || unshare === undefined) return missing('nsenter', 'util-linux');
  if (ip === undefined) return missing('ip', 'iproute2');
  return (await problemWith(TUN)) ?? { tools: { slirp4netns, nsenter, unshare, ip } };
}

/** What a person can do instead of repairing the network. */
const otherwise = 'or run the server without network: --permission-profile none';

const missing = (program: string, packageName: string) => ({
  problem: `${program} is not installed`,
  hint: `${installWith(packageName)}; ${otherwise}`,
});

const TUN = '/dev/net/tun';

async function problemWith(device: string): Promise<{ problem: string; hint: string } | undefined> {
  try {
    await access(device, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    const exists = !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
    return exists
      ? {
          problem: `${device} cannot be opened`,
          hint: `allow access with sudo chmod 0666 ${device}; ${otherwise}`,
        }
      : {
          problem: `${device} does not exist`,
          hint: `load its driver with sudo modprobe tun. In a container, start the container with --device ${device}; ${otherwise}`,
        };
  }
}

/** The fix if all parts exist but the network does not work. */
export const networkHint = `a container or a security policy may block access: allow ${TUN} and user namespaces; ${otherwise}`;

/** The address to which a sandbox sends lookups. slirp4netns forwards only lookups to the machine's resolver. */
export const NAME_SERVER = '10.0.2.3';

/** What slirp4netns uses of the sandbox's limits. */
export const networkShare = { memoryBytes: 32 * 1024 * 1024, processes: 4 };

const IDENTITY_TIMEOUT_MS = 10_000;
const READY_TIMEOUT_MS = 10_000;

/** Which descriptor of slirp4netns is what, from the third on. */
const descriptors = { ready: 3, exit: 4, user: 5, network: 6 };

const options = [
  '--configure',
  '--mtu=65520',
  '--disable-host-loopback',
  '--enable-sandbox',
  '--enable-seccomp',
  `--ready-fd=${descriptors.ready}`,
  `--exit-fd=${descriptors.exit}`, // closed by the kernel when the daemon ends, however that happens
  '--netns-type=path',
  `/proc/self/fd/${descriptors.network}`,
  'tap0',
];

/**
 * A sandbox's network: slirp4netns connects on its behalf to the addresses that the routes in its namespace allow.
 * Disposal ends slirp4netns and waits for its end.
 */
export class OwnNetwork implements AsyncDisposable {
  readonly #tools: NetworkTools;
  readonly #routes: readonly string[];
  #slirp: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #output = new Output();
  #routing: ChildProcess | undefined;
  #routed: Promise<{ code: number | null }> | undefined;
  #disposed = false;

  constructor(tools: NetworkTools, network: OpenNetwork) {
    this.#tools = tools;
    this.#routes = restrictingRoutes(network);
  }

  /**
   * Starts the network setup of a sandbox whose first process is still in the owning user namespace. slirp4netns runs
   * in that namespace, too, so it has none of a root daemon's privileges.
   */
  async attach(pid: number): Promise<void> {
    // Until the mapping exists, root inside is the user "nobody" and cannot configure the network.
    if (!(await waitUntil(() => hasIdentity(pid), { timeoutMs: IDENTITY_TIMEOUT_MS }))) {
      throw unavailable('the sandbox did not get a user namespace in time');
    }
    if (this.#disposed) return;
    const user = openSync(`/proc/${pid}/ns/user`, 'r');
    try {
      const network = openSync(`/proc/${pid}/ns/net`, 'r');
      try {
        this.connect({ user, network }, throughUser);
      } finally {
        closeSync(network);
      }
    } finally {
      closeSync(user);
    }
  }

  /** The process that a server's traffic passes through. */
  get pid(): number | undefined {
    return this.#slirp?.pid;
  }

  /** What slirp4netns said, for a log. */
  get said(): string {
    return this.#output.text;
  }

  /** Settles when slirp4netns has ended. Never rejects. */
  get ended(): Promise<unknown> {
    return this.#ended;
  }

  /** Returns when the network is ready. Throws if the setup fails. */
  async ready(): Promise<void> {
    const timeout = new AbortController();
    const late = delay(READY_TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
    const answered = once(streamOf(this.#slirp, descriptors.ready), 'data').then(
      () => {
        this.#routing?.stdin?.end(this.#routes.join('\n')); // some lead through the device
        return 'ready';
      },
      () => 'ended',
    );
    const both = Promise.all([answered, this.#routed]).then(([answer, routing]) =>
      routing?.code === 0 ? answer : 'ended',
    );
    const outcome = await Promise.race([both, this.#ended.then(() => 'ended'), late]);
    timeout.abort();
    if (outcome === 'ready') return;
    const why = outcome === 'late' ? 'the setup timed out' : this.#output.complaint();
    throw unavailable(`the network of the sandbox could not be set up: ${why}`, { hint: networkHint });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#slirp?.kill('SIGKILL');
    this.#routing?.kill('SIGKILL');
    await Promise.all([this.#ended, this.#routed]);
    for (const stream of this.#slirp?.stdio ?? []) stream?.destroy();
  }

  /**
   * Starts the setup of a network namespace, of which these are descriptors. `entering` are the arguments with which
   * `nsenter` gets power over the namespace.
   */
  connect(
    { user, network }: { user: number; network: number },
    entering: (descriptor: number) => readonly string[],
  ): void {
    const { nsenter, unshare, slirp4netns, ip } = this.#tools;
    const enterUser = entering(descriptors.user);
    this.#slirp = spawnSealed(
      nsenter,
      [...enterUser, '--', unshare, ...keepingMounts, slirp4netns, ...options],
      [undefined, 'pipe', 'pipe', 'pipe', 'pipe', user, network],
    );
    this.#ended = exitOf(this.#slirp);
    this.#routing = spawnSealed(
      nsenter,
      [...enterUser, `--net=/proc/self/fd/${descriptors.network}`, '--', ip, '-batch', '-'],
      ['pipe', undefined, 'pipe', undefined, undefined, user, network],
    );
    this.#routed = exitOf(this.#routing);
    for (const stream of [this.#slirp.stdout, this.#slirp.stderr, this.#routing.stderr]) {
      this.#output.take(stream);
    }
    for (const stream of [...this.#slirp.stdio, this.#routing.stdin]) stream?.on('error', () => {}); // the process has ended, and its exit explains why
  }
}

/**
 * slirp4netns unmounts everything in its own mount namespace. With the rights of root, this would also unmount what is
 * shared there, such as the named network namespaces of `ip netns` and of container networks.
 */
const keepingMounts = ['--mount', '--propagation=private', '--'];

const throughUser = (descriptor: number): string[] => [
  `--user=/proc/self/fd/${descriptor}`,
  '--preserve-credentials',
];

function streamOf(child: ChildProcess | undefined, descriptor: number): Readable {
  const stream = child?.stdio[descriptor];
  if (stream !== null && stream !== undefined && 'read' in stream) return stream;
  throw unavailable('slirp4netns could not be started');
}

const OUTPUT_LIMIT = 4096;

/** The parts of slirp4netns reports that are used. */
class Output {
  text = '';

  take(stream: Readable | null): void {
    stream?.on('data', (chunk: Buffer) => {
      if (this.text.length < OUTPUT_LIMIT) this.text += chunk.toString().slice(0, OUTPUT_LIMIT);
    });
  }

  /** The lines that describe errors. */
  complaint(): string {
    const lines = this.text.split('\n').filter((line) => line !== '' && !chatter.test(line));
    return lines.length === 0 ? 'slirp4netns ended' : lines.join('; ');
  }
}

const chatter = /^(WARNING|\*|Starting|sent |received |seccomp: The)/;
