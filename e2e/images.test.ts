// @suite e2e (in depth)
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { describe, expect, test } from 'vitest';
import { buildOperatorImage } from '../scripts/images.ts';

const run = promisify(execFile);

test('equal sources give equal images, with a list of their packages', async () => {
  await using first = await mkdtempDisposable(join(tmpdir(), 'thv-images-'));
  await using second = await mkdtempDisposable(join(tmpdir(), 'thv-images-'));

  const built = await buildOperatorImage('toolhive-proxyrunner', { folder: first.path });
  const again = await buildOperatorImage('toolhive-proxyrunner', { folder: second.path });

  expect(again.digest).toBe(built.digest);
  expect((await readFile(again.archive)).equals(await readFile(built.archive))).toBe(true);
  expect(built.bytes).toBeLessThan(64 * 1024 ** 2);
  const { components } = JSON.parse(await readFile(built.sbom, 'utf8')) as { components: { purl: string }[] };
  const purls = components.map(({ purl }) => purl);
  expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/%40cedar-policy\/cedar-wasm@/));
  expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/undici@/));
  expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/node@/));
});

/** The security context of the pods. */
const restricted = [
  '--read-only',
  '--user',
  '1000',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
  '--network',
  'none',
];

const socket = await engineSocket('docker');
const hasDocker = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((path) => existsSync(join(path, 'docker')));
// oxlint-disable-next-line vitest/no-conditional-tests -- a skipped test counts as a failure
if (socket !== '' && hasDocker) {
  test('the operator image starts without a writable root, and ends with one clear error outside of a cluster', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-images-'));
    const { archive } = await buildOperatorImage('toolhive-operator', { folder: folder.path });
    const words = (...rest: string[]): string[] => ['-H', `unix://${socket}`, ...rest];
    await run('docker', words('load', '--input', archive));

    const ended = await run('docker', words('run', '--rm', ...restricted, 'toolhive-operator:dev')).then(
      () => expect.unreachable('an operator without a cluster'),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );

    expect(ended).toMatchObject({ code: 1, stderr: '' });
    expect(
      ended.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      expect.objectContaining({ msg: 'the operator ended: cannot read /tmp/.kube/config: file not found' }),
    ]);
  });

  describe('the proxy runner image', () => {
    test('runs without a writable root, capabilities, and new privileges', async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-images-'));
      const { archive } = await buildOperatorImage('toolhive-proxyrunner', { folder: folder.path });
      const docker = (...words: string[]) => run('docker', ['-H', `unix://${socket}`, ...words]);
      await docker('load', '--input', archive);
      const image = 'toolhive-proxyrunner:dev';

      const missing = spawn(
        'docker',
        ['-H', `unix://${socket}`, 'run', '--rm', ...restricted, image, 'run'],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      );
      const errors: Buffer[] = [];
      missing.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
      await once(missing, 'close');
      expect(Buffer.concat(errors).toString()).toContain(
        'run config not found in /etc/runconfig/runconfig.json',
      );

      const runConfig = {
        schema_version: 'v0.1.0',
        name: 'echo',
        base_name: 'echo',
        container_name: 'echo',
        transport: 'streamable-http',
        host: '0.0.0.0',
        port: 8080,
        target_port: 9000,
        authz_config: {
          version: '1.0',
          type: 'cedarv1',
          cedar: { policies: ['permit(principal, action, resource);'], entities_json: '[]' },
        },
      };
      await writeFile(join(folder.path, 'runconfig.json'), JSON.stringify(runConfig), { mode: 0o644 });
      await run('chmod', ['0755', folder.path]);
      const mount = `${folder.path}:/etc/runconfig:ro`;
      const { stdout } = await docker('run', '--detach', ...restricted, '-v', mount, image, 'run');
      const id = stdout.trim();
      const ask =
        'fetch("http://127.0.0.1:8080/livez").then((r) => process.exit(r.status === 200 ? 0 : 1), () => process.exit(1))';
      const probe = () =>
        docker('exec', id, '/bin/node', '-e', ask).then(
          () => true,
          () => false,
        );
      await expect.poll(probe).toBe(true);
      await docker('stop', '--time', '10', id);
      const { stdout: state } = await docker('inspect', '--format', '{{.State.ExitCode}}', id);
      await docker('rm', '--force', id);

      expect(state.trim()).toBe('0');
    });
  });
}
