// @suite kubernetes
import { execFile } from 'node:child_process';
import { copyFile, glob, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { goEnvironment, whyNoControlPlane } from '@toolhive/operator/testing/control-plane';
import { root } from './build.ts';

const run = promisify(execFile);
const files = await Array.fromAsync(glob(join(root, '.github/workflows/*.yml')));

interface Workflow {
  permissions?: object;
  jobs: Record<string, { 'timeout-minutes'?: number; steps: { uses?: string; run?: string }[] }>;
}

const workflows = await Promise.all(
  files.map(async (file) => [basename(file), parse(await readFile(file, 'utf8')) as Workflow] as const),
);

/** The problems that actionlint finds, whose version is in `actionlint/go.mod`. */
async function problemsIn(paths: readonly string[]): Promise<string> {
  const cwd = join(root, 'scripts/actionlint');
  const env = { ...process.env, ...goEnvironment };
  const found = await run('go', ['tool', 'actionlint', '-no-color', ...paths], { cwd, env }).catch(
    (error: { stdout: string; stderr: string }) => error, // actionlint ends with 1 if it finds problems
  );
  return found.stdout + found.stderr.replaceAll(/^go: downloading .*\n/gm, ''); // what Go says the first time
}

describe.skipIf(whyNoControlPlane() !== undefined)('actionlint', () => {
  test('finds no problem in the workflows', async () => {
    expect(await problemsIn(files)).toBe('');
  });

  test('finds a job with an unknown output', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'workflows-'));
    const file = join(folder.path, 'release.yml');
    await copyFile(join(root, '.github/workflows/release.yml'), file);
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replace('outputs.version }}-', 'outputs.verson }}-'),
    );

    expect(await problemsIn([file])).toContain('"verson" is not defined');
  });
});

test.each(workflows)('%s grants nothing by default, and no job runs without a limit', (_name, workflow) => {
  expect(workflow.permissions).toEqual({ contents: 'read' });
  for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeLessThanOrEqual(60);
});

test.each(workflows)(
  '%s never puts text from events or variables into a shell program',
  (_name, { jobs }) => {
    const programs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => step.run ?? []));

    expect(programs.length).toBeGreaterThan(3);
    expect(programs.filter((program) => program.includes('${{'))).toEqual([]);
  },
);
