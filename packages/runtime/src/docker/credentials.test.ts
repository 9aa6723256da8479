import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { registryAuth } from './credentials.ts';

const never = new AbortController().signal;
let folder: string;

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'thv-credentials-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

test('asks as a stranger when nobody has logged in', async () => {
  await expect(registryAuth('ghcr.io', { HOME: folder }, never)).resolves.toBeUndefined();
});

test("prefers a registry's own variables to those for any registry", async () => {
  const env = {
    HOME: folder,
    REGISTRY_MY_HOST_EXAMPLE_5000_USERNAME: 'own',
    REGISTRY_MY_HOST_EXAMPLE_5000_PASSWORD: 'pass',
    REGISTRY_USERNAME: 'any',
    REGISTRY_PASSWORD: 'word',
  };

  expect(await ask('my-host.example:5000', env)).toMatchObject({ username: 'own', password: 'pass' });
  expect(await ask('ghcr.io', env)).toEqual({ username: 'any', password: 'word', serveraddress: 'ghcr.io' });
});

test.each([
  [
    'ghcr.io',
    { auths: { 'ghcr.io': { auth: encode('me:pass:word') } } },
    { username: 'me', password: 'pass:word' },
  ],
  ['ghcr.io', { auths: { 'https://ghcr.io': { auth: encode('me:x') } } }, { username: 'me', password: 'x' }],
  ['docker.io', { auths: { 'https://index.docker.io/v1/': { auth: encode('me:x') } } }, { username: 'me' }],
  ['ghcr.io', { auths: { 'ghcr.io': { identitytoken: 'token' } } }, { identitytoken: 'token' }],
])('reads the login for %s from the Docker configuration (%#)', async (host, config, expected) => {
  await configure(config);

  expect(await ask(host, { DOCKER_CONFIG: folder })).toMatchObject(expected);
});

test('asks the credential helper of the registry, with the registry on its standard input only', async () => {
  await configure({ credHelpers: { 'ghcr.io': 'test' }, auths: { 'ghcr.io': { auth: encode('no:no') } } });
  const script = '[ "$*" = get ] && read host; echo "{\\"Username\\":\\"me@$host\\",\\"Secret\\":\\"x\\"}"';
  await helper('docker-credential-test', script);

  const auth = await ask('ghcr.io', { DOCKER_CONFIG: folder, PATH: `${folder}:/bin:/usr/bin` });

  expect(auth).toMatchObject({ username: 'me@ghcr.io', password: 'x' });
});

test('falls back to the logins in the file when the credential store knows nothing', async () => {
  await configure({ credsStore: 'test', auths: { 'ghcr.io': { auth: encode('me:x') } } });
  await helper('docker-credential-test', 'echo "credentials not found"; exit 1');

  const auth = await ask('ghcr.io', { DOCKER_CONFIG: folder, PATH: `${folder}:/bin:/usr/bin` });

  expect(auth).toMatchObject({ username: 'me' });
});

test('says which credential helper is missing', async () => {
  await configure({ credsStore: 'missing' });

  await expect(registryAuth('ghcr.io', { DOCKER_CONFIG: folder, PATH: folder }, never)).rejects.toMatchObject(
    {
      kind: 'unavailable',
      message: expect.stringContaining('docker-credential-missing did not answer'),
    },
  );
});

test('runs nothing outside the search path for a configuration that asks for it', async () => {
  await configure({ credsStore: '../../bin/sh' });

  await expect(registryAuth('ghcr.io', { DOCKER_CONFIG: folder }, never)).rejects.toMatchObject({
    kind: 'invalid',
  });
});

test('quotes nothing of a configuration that cannot be read', async () => {
  await writeFile(join(folder, 'config.json'), '{"auths": hunter2');

  const error: unknown = await registryAuth('ghcr.io', { DOCKER_CONFIG: folder }, never).catch(
    (thrown) => thrown,
  );

  expect(error).toMatchObject({ kind: 'invalid' });
  expect(inspect(error)).not.toContain('hunter2');
});

async function ask(host: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  const header = await registryAuth(host, env, never);
  return header && JSON.parse(Buffer.from(header, 'base64url').toString());
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function configure(config: unknown): Promise<void> {
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
}

async function helper(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}
