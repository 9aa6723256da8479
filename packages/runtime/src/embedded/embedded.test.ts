// @suite system
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { bundleProgram, embeddedProgramFiles } from '../embedded-bundle.ts';
import { connectNamespaces } from '../egress/connect-namespaces.ts';

const run = promisify(execFile);
const programs = embeddedProgramFiles.filter((file) => file.endsWith('.ts'));
const scripts = embeddedProgramFiles.filter((file) => file.endsWith('.sh'));
const shells = ['/bin/dash', '/bin/bash', '/bin/busybox'].filter((shell) => existsSync(shell));

test.each(programs)('%s needs nothing but Node.js', (file) => {
  const { text } = bundleProgram(file);

  const needed = [...text.matchAll(/\brequire\("([^"]+)"\)|\bimport\b/g)].map(([, name]) => name);

  expect(needed.length).toBeGreaterThan(0);
  expect(needed.filter((name) => name === undefined || !isBuiltin(name))).toEqual([]);
  expect(() => new Script(text)).not.toThrow();
});

describe.each(shells)('by %s', (shell) => {
  const prefix = shell.endsWith('busybox') ? ['sh'] : [];

  test.each(scripts)('%s can be read', async (file) => {
    const { text } = bundleProgram(file);

    await expect(run(shell, [...prefix, '-n', '-c', text])).resolves.toMatchObject({ stderr: '' });
  });

  test('an unknown step connects nothing, and the program still runs', async () => {
    const step = { step: 'guess' } as unknown as Parameters<typeof connectNamespaces>[1];
    const tools = { ip: '/nowhere/ip', nsenter: '/nowhere/nsenter' };

    const { stdout } = await run(shell, [...prefix, ...connectNamespaces(tools, step, ['true'])]);

    expect(stdout).toBe('unknown step guess\nfailed\n');
  });

  test('a command of `ip` that fails is reported with its reason', async () => {
    const tools = { ip: '/nowhere/ip', nsenter: '/nowhere/nsenter' };

    const { stdout } = await run(shell, [
      ...prefix,
      ...connectNamespaces(tools, { step: 'prepare', device: 'x' }, ['true']),
    ]);

    expect(stdout).toMatch(/\/nowhere\/ip: .*\nfailed\n$/s);
  });
});

test('every file that programs consist of is listed or imported by one', async () => {
  const inputs = embeddedProgramFiles.flatMap((file) => bundleProgram(file).inputs);
  const used = new Set(inputs.map((path) => path.replace(/^.*\//, '')));

  const files = (await readdir(import.meta.dirname)).filter((name) => !name.endsWith('.test.ts'));

  expect(files.filter((name) => !used.has(name))).toEqual([]);
});
