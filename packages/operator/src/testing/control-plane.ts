import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import { crdFiles } from '../crds/crds.ts';

const run = promisify(execFile);
const script = new URL('../../control-plane/control-plane.sh', import.meta.url).pathname;
/** The first build compiles all of Kubernetes. */
const BUILD_TIMEOUT_MS = 20 * 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A real control plane with the custom resource definitions, and with kwok instead of kubelets. */
export interface ControlPlane extends AsyncDisposable {
  /** The kubeconfig file of an administrator. */
  kubeconfig: string;
  /** The folder of the running instance, with logs and certificates. */
  state: string;
  /** The range of the addresses of Services. */
  serviceRange: string;
  /** The first address of the range, which belongs to the API server. */
  serviceAddress: string;
  /** A client of an administrator. */
  client: KubernetesClient;
  /** Runs kubectl as an administrator and returns its output. Throws with its messages. */
  kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** The environment for kubectl, with a memory of definitions that no other control plane at the same port has left. */
  env: { KUBECONFIG: string; KUBECACHEDIR: string; GOGC: string };
  /** Creates or replaces the custom resource definitions. */
  define: () => Promise<void>;
  /** Creates a namespace that enforces the restricted Pod Security Standard, and returns its name. */
  namespace: (labels?: Record<string, string>) => Promise<string>;
  /** Kills processes of the control plane and starts them again. */
  restart: (...processes: readonly string[]) => Promise<void>;
  /** Removes the history of all objects from etcd, so that only current versions are left. */
  compact: () => Promise<void>;
  /** Returns all writes so far, oldest first. */
  writes: () => Promise<AuditedWrite[]>;
}

/** One write, as the API server recorded the write. */
export interface AuditedWrite {
  verb: string;
  user: string;
  userAgent: string;
  /** The identity of the token, if the user is a service account. */
  credential?: string | undefined;
  /** When the API server received the request, as an RFC 3339 time with microseconds. */
  receivedAt: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  code: number;
}

/** Why no control plane can be started here, or undefined if one can. */
export function whyNoControlPlane(): string | undefined {
  if (process.platform !== 'linux') return 'the control plane needs Linux';
  const programs = ['go', 'openssl', 'bash'];
  const missing = programs.find(
    (program) =>
      !(process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program))),
  );
  return missing === undefined ? undefined : `${missing} is not installed`;
}

/** Builds the programs of the control plane if the cache lacks them, and returns their folder. */
export async function buildControlPlane(): Promise<string> {
  const { stdout } = await run(script, ['build'], { timeout: BUILD_TIMEOUT_MS });
  return stdout.trim();
}

export interface ControlPlaneOptions {
  hasDefinitions?: boolean;
  /** The controllers of Kubernetes that run. By default, all that tests without nodes can use. */
  controllers?: readonly string[];
}

/**
 * Starts a control plane of this test file alone, by default with the custom resource definitions. Disposing stops all
 * processes and removes the data.
 */
export async function startControlPlane({
  hasDefinitions = true,
  controllers = [],
}: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = await buildControlPlane();
  const folder = await mkdtemp(join(tmpdir(), 'thv-cp-'));
  const state = join(folder, 'state');
  const network = freeNetwork();
  const env = {
    ...process.env,
    CONTROL_PLANE_STATE: state,
    CONTROL_PLANE_NETWORK: network,
    CONTROL_PLANE_CONTROLLERS: controllers.join(','),
  };
  const operate = async (...words: readonly string[]): Promise<string> =>
    (await run(script, words, { env, maxBuffer: MAX_OUTPUT_BYTES })).stdout.trim();
  const stop = async (): Promise<void> => {
    await operate('stop');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const kubeconfig = await operate('start').catch(async () => {
      await operate('stop'); // another program may have taken the port in the meantime
      return operate('start');
    });
    const client = new KubernetesClient(await loadKubeconfig({ path: kubeconfig }));
    // A command ends before it needs a collection of garbage: a fifth of its processor time.
    const forKubectl = { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(state, 'kubectl'), GOGC: '400' };
    const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
      const running = run(join(programs, 'kubectl'), args, {
        env: { ...process.env, ...forKubectl },
        maxBuffer: MAX_OUTPUT_BYTES,
      });
      if (input !== undefined) running.child.stdin?.end(input);
      return (await running).stdout.trim();
    };
    const define = async (): Promise<void> => {
      const words = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
      await kubectl(words, Object.values(crdFiles()).join('---\n'));
      const wait = ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'];
      // A definition that has no status yet is an error for kubectl.
      while (!(await kubectl(wait).then(() => true, isWithoutStatus))) await delay(100);
    };
    if (hasDefinitions) await define();
    let count = 0;
    return {
      define,
      kubeconfig,
      env: forKubectl,
      state,
      serviceRange: `${network}.0.0/16`,
      serviceAddress: `${network}.0.1`,
      client,
      kubectl,
      async namespace(labels = {}) {
        count += 1;
        const name = `test-${count}`;
        const all = { 'pod-security.kubernetes.io/enforce': 'restricted', ...labels };
        const { apiVersion, kind } = types.namespace;
        await client.create(types.namespace, { apiVersion, kind, metadata: { name, labels: all } });
        return name;
      },
      async restart(...processes) {
        await operate('restart', ...processes);
      },
      async compact() {
        const { header } = (await etcd(state, '/v3/maintenance/status', {})) as {
          header: { revision: string };
        };
        await etcd(state, '/v3/kv/compaction', { revision: header.revision, physical: true });
      },
      writes: () => readWrites(join(state, 'audit.jsonl')),
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
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

/** Calls the JSON interface of etcd. */
async function etcd(state: string, path: string, body: object): Promise<unknown> {
  const call = request({ socketPath: join(state, 'etcd.sock'), method: 'POST', path });
  call.end(JSON.stringify(body));
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  const content = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode}: ${content}`);
  return JSON.parse(content);
}

interface AuditLine {
  verb: string;
  user: { username: string; extra?: Record<string, string[]> };
  requestReceivedTimestamp: string;
  userAgent?: string;
  objectRef?: { resource: string; namespace?: string; name?: string; subresource?: string };
  responseStatus?: { code: number };
}

async function readWrites(path: string): Promise<AuditedWrite[]> {
  const log = await readFile(path, 'utf8');
  const complete = log.slice(0, log.lastIndexOf('\n') + 1);
  return complete
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const {
        verb,
        user,
        userAgent = '',
        objectRef,
        responseStatus,
        requestReceivedTimestamp: receivedAt,
      } = JSON.parse(line) as AuditLine;
      return {
        verb,
        user: user.username,
        userAgent,
        credential: user.extra?.['authentication.kubernetes.io/credential-id']?.[0],
        receivedAt,
        code: responseStatus?.code ?? 0,
        ...(objectRef ?? { resource: '' }),
      };
    });
}

/** False if the error means that an object has no status yet. Throws any other error. */
function isWithoutStatus(error: unknown): false {
  if (error instanceof Error && error.message.includes('conditions accessor error')) return false;
  throw error;
}
