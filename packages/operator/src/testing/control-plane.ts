import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
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
  /** A client of an administrator. */
  client: KubernetesClient;
  /** Runs kubectl as an administrator and returns its output. Throws with its messages. */
  kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** Creates a namespace that enforces the restricted Pod Security Standard, and returns its name. */
  namespace: (labels?: Record<string, string>) => Promise<string>;
  /** Kills processes of the control plane and starts them again. */
  restart: (...processes: readonly string[]) => Promise<void>;
  /** Returns all writes so far, oldest first. */
  writes: () => Promise<AuditedWrite[]>;
}

/** One write, as the API server recorded the write. */
export interface AuditedWrite {
  verb: string;
  user: string;
  userAgent: string;
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

/** Starts a control plane of this test file alone. Disposing stops all processes and removes the data. */
export async function startControlPlane(): Promise<ControlPlane> {
  const programs = await buildControlPlane();
  const folder = await mkdtemp(join(tmpdir(), 'thv-cp-'));
  const state = join(folder, 'state');
  const env = { ...process.env, CONTROL_PLANE_STATE: state };
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
    const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
      const running = run(join(programs, 'kubectl'), [`--kubeconfig=${kubeconfig}`, ...args], {
        maxBuffer: MAX_OUTPUT_BYTES,
      });
      if (input !== undefined) running.child.stdin?.end(input);
      return (await running).stdout.trim();
    };
    const definitions = Object.values(crdFiles()).join('---\n');
    await kubectl(['apply', '--server-side', '-f', '-'], definitions);
    await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
    let count = 0;
    return {
      kubeconfig,
      state,
      client,
      kubectl,
      async namespace(labels = {}) {
        count += 1;
        const name = `test-${count}`;
        await kubectl(['create', 'namespace', name]);
        const all = { 'pod-security.kubernetes.io/enforce': 'restricted', ...labels };
        await kubectl([
          'label',
          'namespace',
          name,
          ...Object.entries(all).map(([key, value]) => `${key}=${value}`),
        ]);
        return name;
      },
      async restart(...processes) {
        await operate('restart', ...processes);
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

interface AuditLine {
  verb: string;
  user: { username: string };
  userAgent?: string;
  objectRef?: { resource: string; namespace?: string; name?: string; subresource?: string };
  responseStatus?: { code: number };
}

async function readWrites(path: string): Promise<AuditedWrite[]> {
  const text = await readFile(path, 'utf8');
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  return complete
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { verb, user, userAgent = '', objectRef, responseStatus } = JSON.parse(line) as AuditLine;
      return {
        verb,
        user: user.username,
        userAgent,
        code: responseStatus?.code ?? 0,
        ...(objectRef ?? { resource: '' }),
      };
    });
}
