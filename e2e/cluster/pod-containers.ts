import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { tokenOf } from './operator-account.ts';

const run = promisify(execFile);

/** A pod as the API server returns the pod, with all defaults. */
export interface Pod {
  metadata: { name: string; namespace: string; labels: Record<string, string> };
  spec: {
    containers: Container[];
    volumes?: Volume[];
    securityContext: { runAsUser?: number; runAsGroup?: number; fsGroup?: number; [field: string]: unknown };
    serviceAccountName: string;
    [field: string]: unknown;
  };
}

interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: ValueSource }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean; [field: string]: unknown }[];
  resources?: { limits?: { cpu?: string; memory?: string } };
  readinessProbe?: { httpGet: { path: string; httpHeaders?: { name: string; value: string }[] } };
  ports?: { name: string; containerPort: number }[];
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    runAsNonRoot?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
    [field: string]: unknown;
  };
  stdin?: boolean;
  stdinOnce?: boolean;
  [field: string]: unknown;
}

interface ValueSource {
  fieldRef?: { fieldPath: string };
  secretKeyRef?: { name: string; key: string };
  configMapKeyRef?: { name: string; key: string };
}

interface Volume {
  name: string;
  emptyDir?: object;
  configMap?: { name: string };
  secret?: { secretName: string; defaultMode?: number };
  projected?: {
    sources: {
      serviceAccountToken?: { path: string };
      configMap?: { name: string; items: { key: string; path: string }[] };
      downwardAPI?: { items: { path: string; fieldRef: { fieldPath: string } }[] };
    }[];
  };
  [field: string]: unknown;
}

interface Service {
  metadata: { name: string };
  spec: { clusterIP: string; selector?: Record<string, string>; ports: { name: string }[] };
}

/** Fields of a pod that a container engine has no equivalent for, and that do not change the processes in the pod. */
const podFieldsWithoutEffect = [
  'automountServiceAccountToken', // the API server has added the volume with the token
  'dnsPolicy',
  'enableServiceLinks',
  'hostname',
  'nodeName',
  'preemptionPolicy',
  'priority',
  'restartPolicy',
  'schedulerName',
  'serviceAccount',
  'subdomain',
  'terminationGracePeriodSeconds',
  'tolerations',
  'topologySpreadConstraints',
];
const containerFieldsWithoutEffect = [
  'imagePullPolicy',
  'lifecycle',
  'livenessProbe',
  'startupProbe',
  'terminationMessagePath',
  'terminationMessagePolicy',
];

/** A pod that runs as a container. */
export interface RunningPod {
  id: string;
  address: string;
  /** Sends the readiness probe until it succeeds. Throws the logs of a container that ended. */
  ready: () => Promise<void>;
  /** Connects to standard input and output. */
  attach: () => ChildProcess;
}

/**
 * Does the work of a kubelet for one namespace: runs pods as containers of a Docker Engine, in a network without a way
 * out. Disposing removes the containers, the networks, and the files.
 */
export class PodContainers implements AsyncDisposable {
  readonly #socket: string;
  readonly #cluster: ControlPlane;
  readonly #namespace: string;
  readonly #folder: string;
  readonly #containers: string[] = [];
  readonly #networks: string[] = [];
  readonly #addresses = new Map<string, string>();

  private constructor(socket: string, cluster: ControlPlane, namespace: string, folder: string) {
    this.#socket = socket;
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#folder = folder;
  }

  static async open(socket: string, cluster: ControlPlane, namespace: string): Promise<PodContainers> {
    const folder = await mkdtemp(join(tmpdir(), 'thv-pods-'));
    const opened = new PodContainers(socket, cluster, namespace, folder);
    const { serviceRange, serviceAddress } = cluster;
    await opened.#createNetwork(opened.#network, '--subnet', serviceRange, '--gateway', serviceAddress);
    return opened;
  }

  /** Runs docker and returns its output. */
  async docker(...words: readonly string[]): Promise<string> {
    const { stdout } = await run('docker', ['-H', `unix://${this.#socket}`, ...words]);
    return stdout.trim();
  }

  /** Resolves Service names, for clients in the test process. */
  readonly lookup: LookupFunction = (host, _options, found) => {
    const address = this.#addresses.get(host);
    if (address === undefined) found(new Error(`no Service ${host}`), []);
    else found(null, [{ address, family: 4 }]);
  };

  /** Starts a container that is not a pod, and returns its address. */
  async startOutside(image: string, ...command: readonly [string, ...string[]]): Promise<string> {
    if (!this.#networks.includes(this.#outside)) await this.#createNetwork(this.#outside);
    const [program, ...args] = command;
    const id = await this.docker(
      'create',
      '--network',
      this.#outside,
      '--entrypoint',
      program,
      image,
      ...args,
    );
    this.#containers.push(id);
    await this.docker('start', id);
    return this.#addressOf(id, this.#outside);
  }

  /** All pods of the namespace with a label. */
  async pods(label: string): Promise<Pod[]> {
    const options = { namespace: this.#namespace, labelSelector: label };
    return (await this.#cluster.client.list<Pod & KubernetesObject>(types.pod, options)).items;
  }

  /** Runs a pod. With `reachesOutside`, the container also joins the network of the containers outside. */
  async start(pod: Pod, { reachesOutside = false } = {}): Promise<RunningPod> {
    const [container, ...others] = pod.spec.containers;
    if (container === undefined || others.length > 0) throw new Error('a pod with one container is expected');
    const services = await this.#servicesOf(pod);
    const names = services.flatMap((service) => namesOf(service, this.#namespace, pod.metadata.name));
    const egress = services.find(({ spec }) => spec.ports.some(({ name }) => name === 'egress'));
    const id = await this.docker(
      'create',
      '--network',
      this.#network,
      ...names.flatMap((name) => ['--network-alias', name]),
      // Servers have the address of this Service, and no name.
      ...(egress === undefined ? [] : ['--ip', egress.spec.clusterIP]),
      ...(await this.#optionsOf(pod, container)),
    );
    this.#containers.push(id);
    if (reachesOutside) await this.docker('network', 'connect', this.#outside, id);
    await this.docker('start', id);
    const address = await this.#addressOf(id, this.#network);
    for (const name of names) this.#addresses.set(name, address);
    return {
      id,
      address,
      ready: async () => {
        while (!(await isReady(container, address))) {
          if ((await this.docker('inspect', '--format', '{{.State.Running}}', id)) === 'true') continue;
          const { stdout, stderr } = await run('docker', ['-H', `unix://${this.#socket}`, 'logs', id]);
          throw new Error(`the container of ${pod.metadata.name} ended: ${stdout}${stderr}`);
        }
      },
      attach: () =>
        spawn('docker', ['-H', `unix://${this.#socket}`, 'attach', '--sig-proxy=false', id], {
          stdio: ['pipe', 'pipe', 'ignore'],
        }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#containers.length > 0) await this.docker('rm', '--force', ...this.#containers);
    if (this.#networks.length > 0) await this.docker('network', 'rm', ...this.#networks);
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #network(): string {
    return `pods-${this.#namespace}-${process.pid}`;
  }

  get #outside(): string {
    return `${this.#network}-outside`;
  }

  async #createNetwork(name: string, ...options: readonly string[]): Promise<void> {
    await this.docker('network', 'create', '--internal', ...options, name);
    this.#networks.push(name);
  }

  async #addressOf(id: string, network: string): Promise<string> {
    const format = `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`;
    return this.docker('inspect', '--format', format, id);
  }

  async #servicesOf({ metadata: { labels } }: Pod): Promise<Service[]> {
    const options = { namespace: this.#namespace };
    const { items } = await this.#cluster.client.list<Service & KubernetesObject>(types.service, options);
    return items.filter(({ spec: { selector = {} } }) =>
      Object.entries(selector).every(([label, value]) => labels[label] === value),
    );
  }

  /** Translates a pod to options of `docker create`. Throws for any field that has no translation. */
  async #optionsOf({ metadata, spec }: Pod, container: Container): Promise<string[]> {
    const { containers: _, volumes = [], securityContext: podSecurity, serviceAccountName, ...pod } = spec;
    const {
      image,
      command = [],
      args = [],
      env = [],
      volumeMounts = [],
      resources,
      stdin,
      stdinOnce: _once,
      ...others
    } = container;
    const { name: _name, ports: _ports, readinessProbe: _probe, securityContext = {}, ...rest } = others;
    const { runAsUser, runAsGroup, fsGroup, runAsNonRoot, seccompProfile, ...otherPodSecurity } = podSecurity;
    const {
      allowPrivilegeEscalation,
      readOnlyRootFilesystem,
      capabilities,
      runAsNonRoot: _same,
      ...otherSecurity
    } = securityContext;
    refuse('pod', withoutKeys(pod, podFieldsWithoutEffect));
    refuse('container', withoutKeys(rest, containerFieldsWithoutEffect));
    refuse('securityContext', { ...otherPodSecurity, ...otherSecurity });
    if (runAsNonRoot !== true || !runAsUser) throw new Error('the pod can run as root');
    // The default of Docker is the profile that RuntimeDefault selects.
    if ((seccompProfile as { type?: string } | undefined)?.type !== 'RuntimeDefault')
      throw new Error('the pod has another seccomp profile');
    const { cpu, memory } = resources?.limits ?? {};
    const values = await Promise.all(
      env.map(
        async ({ name, value, valueFrom }) =>
          `${name}=${value ?? (valueFrom === undefined ? '' : await this.#value(metadata, valueFrom))}`,
      ),
    );
    const folder = join(this.#folder, metadata.name);
    const mounts = await Promise.all(
      volumeMounts.map(async ({ name, mountPath, readOnly = false, ...mount }) => {
        refuse('volumeMount', withoutKeys(mount, ['recursiveReadOnly']));
        const volume = volumes.find((each) => each.name === name);
        if (volume === undefined) throw new Error(`volume ${name} is missing`);
        const path = join(folder, name);
        await mkdir(path, { recursive: true });
        await this.#fill(path, volume, { metadata, serviceAccountName, fsGroup });
        return `type=bind,src=${path},dst=${mountPath}${readOnly ? ',readonly' : ''}`;
      }),
    );
    const [program, ...words] = command;
    return [
      '--hostname',
      metadata.name,
      '--user',
      `${runAsUser}:${runAsGroup ?? 0}`,
      ...(fsGroup === undefined ? [] : ['--group-add', String(fsGroup)]),
      ...(readOnlyRootFilesystem === true ? ['--read-only'] : []),
      ...(allowPrivilegeEscalation === false ? ['--security-opt', 'no-new-privileges'] : []),
      ...(capabilities?.drop ?? []).flatMap((name) => ['--cap-drop', name]),
      ...(capabilities?.add ?? []).flatMap((name) => ['--cap-add', name]),
      ...(cpu === undefined
        ? []
        : ['--cpus', String(cpu.endsWith('m') ? Number.parseInt(cpu, 10) / 1000 : cpu)]),
      ...(memory === undefined ? [] : ['--memory', memory.replace(/i$/, '').toLowerCase()]),
      ...(stdin === true ? ['--interactive'] : []), // closes standard input with its first client, as stdinOnce does
      ...[
        ...values,
        `KUBERNETES_SERVICE_HOST=${this.#cluster.serviceAddress}`,
        'KUBERNETES_SERVICE_PORT=443',
      ].flatMap((value) => ['--env', value]),
      ...mounts.flatMap((mount) => ['--mount', mount]),
      ...(program === undefined ? [] : ['--entrypoint', program]),
      image,
      ...words,
      ...args,
    ];
  }

  async #value(
    metadata: Pod['metadata'],
    { fieldRef, secretKeyRef, configMapKeyRef }: ValueSource,
  ): Promise<string> {
    if (fieldRef !== undefined) return fieldOf(metadata, fieldRef.fieldPath);
    if (secretKeyRef !== undefined) {
      const { data } = await this.#read(types.secret, secretKeyRef.name);
      return Buffer.from(data[secretKeyRef.key] ?? '', 'base64').toString();
    }
    if (configMapKeyRef === undefined) throw new Error('a variable has a source without a translation');
    const { data } = await this.#read(types.configMap, configMapKeyRef.name);
    return data[configMapKeyRef.key] ?? '';
  }

  async #fill(
    path: string,
    volume: Volume,
    {
      metadata,
      serviceAccountName,
      fsGroup,
    }: Pick<Pod, 'metadata'> & { serviceAccountName: string; fsGroup: number | undefined },
  ): Promise<void> {
    const { name, emptyDir, configMap, secret, projected, ...others } = volume;
    refuse(`volume ${name}`, others);
    const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
      for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
    };
    await chmod(path, emptyDir === undefined ? 0o755 : 0o2777);
    await chown(path, 0, fsGroup ?? 0);
    if (configMap !== undefined) await write((await this.#read(types.configMap, configMap.name)).data);
    if (secret !== undefined) {
      const { data } = await this.#read(types.secret, secret.secretName);
      const texts = Object.entries(data).map(([file, text]) => [
        file,
        Buffer.from(text, 'base64').toString(),
      ]);
      await write(Object.fromEntries(texts) as Record<string, string>);
    }
    for (const { serviceAccountToken: token, configMap: map, downwardAPI } of projected?.sources ?? []) {
      if (token !== undefined)
        await write({ [token.path]: await tokenOf(this.#cluster, this.#namespace, serviceAccountName) });
      if (map !== undefined) {
        const { data } = await this.#read(types.configMap, map.name);
        await write(Object.fromEntries(map.items.map((item) => [item.path, data[item.key] ?? ''])));
      }
      for (const item of downwardAPI?.items ?? [])
        await write({ [item.path]: fieldOf(metadata, item.fieldRef.fieldPath) });
    }
  }

  #read(type: ResourceType, name: string): Promise<Stored> {
    return this.#cluster.client.get<Stored>(type, { name, namespace: this.#namespace });
  }
}

/** A ConfigMap or a Secret. */
interface Stored extends KubernetesObject {
  data: Record<string, string>;
}

function fieldOf(metadata: Pod['metadata'], path: string): string {
  // A container has no address before it starts. Without one, proxies do not relay requests to each other.
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'status.podIP': '',
  };
  const value = fields[path];
  if (value === undefined) throw new Error(`field ${path} has no translation`);
  return value;
}

/** The names of a Service, and of its pod if the Service has no address of its own. */
function namesOf(
  { metadata: { name }, spec: { clusterIP } }: Service,
  namespace: string,
  pod: string,
): string[] {
  const hosts = clusterIP === 'None' ? [name, `${pod}.${name}`] : [name];
  return ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].flatMap((suffix) =>
    hosts.map((host) => `${host}${suffix}`),
  );
}

function withoutKeys(value: object, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

function refuse(place: string, rest: object): void {
  const keys = Object.keys(rest);
  if (keys.length > 0) throw new Error(`${place} has fields without a translation: ${keys.join(', ')}`);
}

async function isReady({ readinessProbe, ports = [] }: Container, host: string): Promise<boolean> {
  const { path, httpHeaders = [] } = readinessProbe?.httpGet ?? { path: '/' };
  const port = ports.find(({ name }) => name === 'http')?.containerPort ?? 0;
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  try {
    const sent = request({ host, port, path, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode === 200;
  } catch {
    return false; // the container does not listen yet
  }
}
