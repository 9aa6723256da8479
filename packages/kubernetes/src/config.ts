import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import * as z from 'zod';

/** How to reach an API server, and who asks. */
export interface ClusterConfig {
  /** The URL of the API server, without a trailing slash. */
  server: string;
  /** The namespace for requests without one. */
  namespace: string;
  /** The context in the kubeconfig file. Absent inside a cluster. */
  context?: string;
  tls: ClusterTls;
  /** Returns the current bearer token, or undefined if a certificate is used. */
  token: () => Promise<string | undefined>;
}

/** The TLS settings of connections, as PEM texts. */
interface ClusterTls {
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** Where Kubernetes mounts the service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Kubernetes replaces the token of a pod about each hour. */
const TOKEN_REREAD_MS = 60_000;
const EXEC_TIMEOUT_MS = 60_000;

/** Loads the configuration of the pod that this process runs in. Throws if there is none. */
export async function loadInClusterConfig(
  env: NodeJS.ProcessEnv = process.env,
  folder = SERVICE_ACCOUNT,
): Promise<ClusterConfig> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) throw new Error('this process does not run in a Kubernetes cluster');
  const [ca, namespace] = await Promise.all([
    readFile(join(folder, 'ca.crt'), 'utf8'),
    readFile(join(folder, 'namespace'), 'utf8'),
  ]);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: namespace.trim(),
    tls: { ca },
    token: rereadToken(join(folder, 'token')),
  };
}

const Named = <T extends z.ZodRawShape>(name: string, shape: T) =>
  z.array(z.looseObject({ name: z.string(), [name]: z.looseObject(shape) })).nullish();

const text = z.string().nullish();
const Cluster = {
  server: z.string(),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
};
const Exec = z.looseObject({
  apiVersion: z.string(),
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  provideClusterInfo: z.boolean().nullish(),
});
const User = {
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  exec: Exec.nullish(),
};
const Context = { cluster: z.string(), user: z.string().nullish(), namespace: text };
const Kubeconfig = z.looseObject({
  'current-context': text,
  clusters: Named('cluster', Cluster),
  users: Named('user', User),
  contexts: Named('context', Context),
});

/** A source of kubeconfig files: an explicit path, or the environment as kubectl reads the environment. */
export interface KubeconfigOptions {
  /** The file to read instead of `KUBECONFIG` and `~/.kube/config`. */
  path?: string | undefined;
  /** The context to use instead of the current one. */
  context?: string | undefined;
  env?: NodeJS.ProcessEnv;
}

interface Entry {
  value: Record<string, unknown>;
  folder: string;
}

/** Loads a context of the kubeconfig files as kubectl does: the first file that defines a name wins. */
export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ClusterConfig> {
  const files = await readFiles(options);
  const contextName =
    options.context ?? files.map(({ config }) => config['current-context']).find(Boolean) ?? '';
  if (contextName === '') {
    throw new Error(`no current context in ${files.map(({ path }) => path).join(', ')}`);
  }
  const find = (kind: 'cluster' | 'user' | 'context', name: string): Entry | undefined =>
    files
      .flatMap(({ config, path }) =>
        (config[`${kind}s`] ?? []).map((entry) => ({ entry, folder: dirname(resolve(path)) })),
      )
      .filter(({ entry }) => entry.name === name)
      .map(({ entry, folder }) => ({ value: entry[kind] as Record<string, unknown>, folder }))[0];
  const context = find('context', contextName);
  if (context === undefined) throw new Error(`context ${contextName} not found in ${pathsOf(files)}`);
  const { cluster: clusterName, user: userName, namespace } = z.object(Context).parse(context.value);
  const cluster = find('cluster', clusterName);
  if (cluster === undefined) throw new Error(`cluster ${clusterName} not found in ${pathsOf(files)}`);
  const user = find('user', userName ?? '');
  if (userName && user === undefined) throw new Error(`user ${userName} not found in ${pathsOf(files)}`);
  const found = z.object(Cluster).parse(cluster.value);
  const login = await loginOf(user);
  const ca = await pemOf(found['certificate-authority-data'], found['certificate-authority'], cluster.folder);
  return {
    server: found.server.replace(/\/+$/, ''),
    namespace: namespace ?? 'default',
    context: contextName,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...login.tls,
      ...(found['tls-server-name'] ? { servername: found['tls-server-name'] } : {}),
      ...(found['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
    },
    token: login.token,
  };
}

/** The names of all contexts in the kubeconfig files, each once. */
export async function contextNames(options: KubeconfigOptions = {}): Promise<string[]> {
  const files = await readFiles(options);
  const names = files.flatMap(({ config }) => (config.contexts ?? []).map((context) => context['name']));
  return [...new Set(names.filter((name) => typeof name === 'string'))];
}

/** Loads the configuration of the surrounding pod if there is one, else of the kubeconfig files. */
export async function loadConfig(env: NodeJS.ProcessEnv = process.env): Promise<ClusterConfig> {
  if (env['KUBECONFIG'] === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined) {
    return loadInClusterConfig(env);
  }
  return loadKubeconfig({ env });
}

interface File {
  path: string;
  config: z.infer<typeof Kubeconfig>;
}

function pathsOf(files: readonly File[]): string {
  return files.map(({ path }) => path).join(', ');
}

async function readFiles({ path, env = process.env }: KubeconfigOptions): Promise<File[]> {
  const variable = env['KUBECONFIG'] ?? '';
  const paths =
    path !== undefined
      ? [path]
      : variable === ''
        ? [join(env['HOME'] ?? homedir(), '.kube/config')]
        : variable.split(delimiter).filter((part) => part !== '');
  const isOnly = paths.length === 1;
  const files = await Promise.all(
    paths.map(async (path): Promise<File[]> => {
      const source = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' && !isOnly) return undefined; // kubectl skips missing files of a list
        throw new Error(
          `cannot read ${path}: ${error.code === 'ENOENT' ? 'file not found' : error.message}`,
          { cause: error },
        );
      });
      if (source === undefined) return [];
      const config = Kubeconfig.safeParse(parsedYaml(source, path) ?? {});
      if (!config.success) throw new Error(`invalid kubeconfig ${path}: ${z.prettifyError(config.error)}`);
      return [{ path, config: config.data }];
    }),
  );
  return files.flat();
}

function parsedYaml(source: string, path: string): unknown {
  try {
    return parse(source, { logLevel: 'error' }); // a warning would print a line, maybe with a token
  } catch (error) {
    throw new Error(`invalid kubeconfig ${path}: the file is not YAML`, { cause: error });
  }
}

async function loginOf(entry: Entry | undefined): Promise<Pick<ClusterConfig, 'tls' | 'token'>> {
  const noToken = async (): Promise<undefined> => undefined;
  if (entry === undefined) return { tls: {}, token: noToken };
  const user = z.object(User).parse(entry.value);
  const cert = await pemOf(user['client-certificate-data'], user['client-certificate'], entry.folder);
  const key = await pemOf(user['client-key-data'], user['client-key'], entry.folder);
  const tls = cert !== undefined && key !== undefined ? { cert, key } : {};
  if (user.token) return { tls, token: async () => user.token ?? undefined };
  if (user.tokenFile) return { tls, token: rereadToken(resolve(entry.folder, user.tokenFile)) };
  if (user.exec) return loginByPlugin(user.exec, entry.folder);
  if (user.username) {
    throw new Error('the kubeconfig user has a name and a password, which Kubernetes no longer supports');
  }
  return { tls, token: noToken };
}

async function pemOf(
  data: string | null | undefined,
  path: string | null | undefined,
  folder: string,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return path ? readFile(resolve(folder, path), 'utf8') : undefined;
}

/** Reads a token again when the last reading is older than a minute. */
function rereadToken(path: string): () => Promise<string> {
  let last: { token: string; at: number } | undefined;
  return async () => {
    if (last === undefined || performance.now() - last.at > TOKEN_REREAD_MS) {
      last = { token: (await readFile(path, 'utf8')).trim(), at: performance.now() };
    }
    return last.token;
  };
}

const ExecCredential = z.looseObject({
  status: z.looseObject({
    token: z.string().optional(),
    expirationTimestamp: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
  }),
});
type Credential = z.infer<typeof ExecCredential>['status'];

/** A token that expires within this time is fetched again. */
const EXPIRY_MARGIN_MS = 60_000;

/** Runs a credential plugin (client.authentication.k8s.io) now, and again when its token expires. */
async function loginByPlugin(
  exec: z.infer<typeof Exec>,
  folder: string,
): Promise<Pick<ClusterConfig, 'tls' | 'token'>> {
  let credential = await runPlugin(exec, folder);
  const { clientCertificateData: cert, clientKeyData: key } = credential;
  return {
    tls: cert !== undefined && key !== undefined ? { cert, key } : {},
    async token() {
      const expiry = Date.parse(credential.expirationTimestamp ?? '');
      if (expiry - Date.now() < EXPIRY_MARGIN_MS) credential = await runPlugin(exec, folder);
      return credential.token;
    },
  };
}

async function runPlugin(
  { apiVersion, command, args, env }: z.infer<typeof Exec>,
  folder: string,
): Promise<Credential> {
  const program = command.includes('/') ? resolve(folder, command) : command;
  const { stdout } = await promisify(execFile)(program, args ?? [], {
    timeout: EXEC_TIMEOUT_MS,
    env: {
      ...process.env,
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify({
        apiVersion,
        kind: 'ExecCredential',
        spec: { interactive: false },
      }),
    },
  }).catch((error: Error & { stderr?: string }) => {
    const reason = error.stderr?.trim() || error.message;
    throw new Error(`the credential plugin ${command} failed: ${reason}`, { cause: error });
  });
  const parsed = ExecCredential.safeParse(parsedJson(stdout));
  if (!parsed.success) throw new Error(`the credential plugin ${command} printed no ExecCredential`);
  return parsed.data.status;
}

function parsedJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined; // refused by the schema
  }
}
