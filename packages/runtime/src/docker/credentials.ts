import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cancelled, invalid, messageOf, unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';

const HELPER_TIMEOUT_MS = 10_000;
const MAX_HELPER_BYTES = 64 * 1024;
/** The name under which Docker's own tools keep the credentials of Docker Hub. */
const DOCKER_HUB = 'https://index.docker.io/v1/';

/**
 * The credentials for a pull from a registry, as the engine's `X-Registry-Auth` header. Undefined for anonymous
 * access. In this order: the variables for the host, the variables for any host, and the Docker configuration with
 * its credential helpers.
 */
export async function registryAuth(
  host: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string | undefined> {
  const credentials = fromEnvironment(host, env) ?? (await fromDockerConfig(host, env, signal));
  if (credentials === undefined) return undefined;
  const serveraddress = host === 'docker.io' ? DOCKER_HUB : host;
  const header = Buffer.from(JSON.stringify({ ...credentials, serveraddress })).toString('base64url');
  // Podman insists on the padding that this encoding usually goes without.
  return header.padEnd(Math.ceil(header.length / 4) * 4, '=');
}

type Credentials = { username: string; password: string } | { identitytoken: string };

function fromEnvironment(host: string, env: NodeJS.ProcessEnv): Credentials | undefined {
  for (const prefix of [`REGISTRY_${host.toUpperCase().replaceAll(/[.:-]/g, '_')}`, 'REGISTRY']) {
    const username = env[`${prefix}_USERNAME`];
    const password = env[`${prefix}_PASSWORD`];
    if (username && password) return { username, password };
  }
  return undefined;
}

const Auth = z.looseObject({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});
const DockerConfig = z.looseObject({
  auths: z.record(z.string(), Auth).optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
  credsStore: z.string().optional(),
});

async function fromDockerConfig(
  host: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Credentials | undefined> {
  const config = await readDockerConfig(env);
  const keys = host === 'docker.io' ? [DOCKER_HUB, host] : [host, `https://${host}`, `https://${host}/v1/`];
  const helperKey = keys.find((key) => config.credHelpers?.[key] !== undefined);
  if (helperKey !== undefined)
    return askHelper(config.credHelpers?.[helperKey] ?? '', helperKey, env, signal);
  if (config.credsStore) {
    const stored = await askHelper(config.credsStore, keys[0] ?? host, env, signal);
    if (stored !== undefined) return stored;
  }
  for (const key of keys) {
    const auth = config.auths?.[key];
    if (auth?.identitytoken) return { identitytoken: auth.identitytoken };
    if (auth?.username && auth.password) return { username: auth.username, password: auth.password };
    if (auth?.auth) return decoded(auth.auth);
  }
  return undefined;
}

async function readDockerConfig(env: NodeJS.ProcessEnv): Promise<z.infer<typeof DockerConfig>> {
  const path = join(env.DOCKER_CONFIG || join(env.HOME ?? '/', '.docker'), 'config.json');
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    // Without a readable configuration, access is anonymous.
    return {};
  }
  try {
    return DockerConfig.parse(JSON.parse(text));
  } catch {
    // No cause, because a parser error may quote a password.
    throw invalid(`${path} is not a Docker configuration`, { hint: 'fix the syntax, or move the file away' });
  }
}

/** `user:password` in Base64. The password may contain colons. */
function decoded(auth: string): Credentials | undefined {
  const [, username, password] = /^([^:]+):(.+)$/s.exec(Buffer.from(auth, 'base64').toString()) ?? [];
  return username && password ? { username, password: password.replace(/\0+$/, '') } : undefined;
}

const HelperAnswer = z.object({ Username: z.string(), Secret: z.string() });

/** Runs a `docker-credential-NAME` program. Returns undefined if the program has no credentials for the registry. */
async function askHelper(
  name: string,
  registry: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Credentials | undefined> {
  if (!/^[\w.-]+$/.test(name))
    throw invalid('the Docker configuration contains an invalid name of a credential helper');
  const helper = `docker-credential-${name}`;
  const child = spawn(helper, ['get'], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(HELPER_TIMEOUT_MS)]),
    killSignal: 'SIGKILL',
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (chunks.reduce((size, { length }) => size + length, 0) > MAX_HELPER_BYTES) child.kill('SIGKILL');
  });
  // A program that answers without reading its input breaks the pipe, but its answer counts.
  child.stdin.on('error', () => {});
  child.stdin.end(registry);

  try {
    const [code] = await once(child, 'close');
    // Helpers exit with 1 for an unknown registry, which looks the same as other failures.
    if (code !== 0) return undefined;
  } catch (error) {
    if (signal.aborted)
      throw cancelled('the request for registry credentials was canceled', { cause: error });
    throw unavailable(`${helper} did not answer: ${messageOf(error)}`, {
      hint: 'your Docker configuration names this program: install it, or set REGISTRY_USERNAME and REGISTRY_PASSWORD',
    });
  }
  const answer = HelperAnswer.safeParse(jsonOf(Buffer.concat(chunks).toString()));
  if (!answer.success) throw unavailable(`${helper} returned an invalid response`);
  const { Username, Secret } = answer.data;
  return Username === '<token>' ? { identitytoken: Secret } : { username: Username, password: Secret };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
