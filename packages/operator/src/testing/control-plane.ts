import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import { crdFiles } from '../crds/crds.ts';
import type { AuditedWrite } from './audit-log.ts';
import { startInstance } from './instance.ts';
import type { Instance } from './instance.ts';

export { buildControlPlane } from './instance.ts';
export type { AuditedWrite } from './audit-log.ts';

/** A real control plane with the custom resource definitions, and with kwok instead of kubelets. */
export interface ControlPlane extends AsyncDisposable {
  /** The kubeconfig file of an administrator. */
  kubeconfig: string;
  /** The folder of the running control plane, with logs and certificates. */
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
  env: Instance['env'];
  /** Creates or replaces the custom resource definitions. */
  define: () => Promise<void>;
  /** Creates a namespace that enforces the restricted Pod Security Standard, and returns its name. */
  namespace: (labels?: Record<string, string>) => Promise<string>;
  /** Kills processes of the control plane and starts them again. */
  restart: (...processes: readonly string[]) => Promise<void>;
  /** Removes the history of all objects from etcd, so that only current versions are left. */
  compact: () => Promise<void>;
  /** Returns all writes since the start, oldest first. */
  writes: () => Promise<AuditedWrite[]>;
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

/** The environment in which Go programs of tests are compiled, without the one of this process. */
export const goEnvironment = parseEnv(
  readFileSync(new URL('../../control-plane/go.env', import.meta.url), 'utf8'),
);

export interface ControlPlaneOptions {
  hasDefinitions?: boolean;
  /** The controllers of Kubernetes that run. By default, all that tests without nodes can use. */
  controllers?: readonly string[];
}

/** The control plane that an earlier caller in this process has returned. */
let returned: Instance | undefined;

/**
 * Provides a control plane to one caller, by default with the custom resource definitions. Disposing returns the control
 * plane, and a later caller in this process gets the same one with the objects of a new one. Its processes end with
 * this process.
 */
export async function startControlPlane({
  hasDefinitions = true,
  controllers = [],
}: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const instance = hasDefinitions ? await cleanInstance() : await startInstance();
  try {
    await instance.useControllers(controllers);
    return await provide(instance, hasDefinitions);
  } catch (error) {
    await instance.stop();
    throw error;
  }
}

async function cleanInstance(): Promise<Instance> {
  const instance = returned;
  returned = undefined;
  if (instance !== undefined) {
    if (await instance.clean().catch(() => false)) return instance;
    await instance.stop();
  }
  const started = await startInstance();
  try {
    await define(started);
    await started.remember();
    return started;
  } catch (error) {
    await started.stop();
    throw error;
  }
}

async function define({ kubectl }: Instance): Promise<void> {
  const words = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await kubectl(words, Object.values(crdFiles()).join('---\n'));
  const wait = ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'];
  // A definition that has no status yet is an error for kubectl.
  while (!(await kubectl(wait).then(() => true, isWithoutStatus))) await delay(100);
}

async function provide(instance: Instance, isReusable: boolean): Promise<ControlPlane> {
  const { kubeconfig, state, network, env, kubectl } = instance;
  const client = new KubernetesClient(await loadKubeconfig({ path: kubeconfig }));
  const earlier = (await instance.writes()).length;
  let isIntact = isReusable;
  return {
    define: () => define(instance),
    kubeconfig,
    env,
    state,
    serviceRange: `${network}.0.0/16`,
    serviceAddress: `${network}.0.1`,
    client,
    kubectl,
    async namespace(labels = {}) {
      const name = instance.newName();
      const all = { 'pod-security.kubernetes.io/enforce': 'restricted', ...labels };
      const { apiVersion, kind } = types.namespace;
      await client.create(types.namespace, { apiVersion, kind, metadata: { name, labels: all } });
      return name;
    },
    async restart(...processes) {
      isIntact = false;
      await instance.restart(...processes);
      isIntact = isReusable;
    },
    compact: () => instance.compact(),
    writes: async () => (await instance.writes()).slice(earlier),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      const isClean = isIntact && returned === undefined && (await instance.clean().catch(() => false));
      if (isClean) returned = instance;
      else await instance.stop();
    },
  };
}

/** False if the error means that an object has no status yet. Throws any other error. */
function isWithoutStatus(error: unknown): false {
  if (error instanceof Error && error.message.includes('conditions accessor error')) return false;
  throw error;
}
