import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { environmentVariables } from './environment.ts';

const root = new URL('../../../../..', import.meta.url).pathname;

test('lists the environment variables that the product reads, and no others', async () => {
  const read = new Set<string>();
  for await (const path of glob(`${root}{packages/*,apps/cli}/src/**/*.ts`, {
    exclude: (name) => name === 'node_modules' || name === 'testing',
  })) {
    // The operator sets variables of its own pods, which users do not set.
    if (path.endsWith('.test.ts') || path.includes('/packages/operator/')) continue;
    for (const [name] of (await readFile(path, 'utf8')).matchAll(/\bTOOLHIVE_[A-Z_]*[A-Z]\b/g))
      read.add(name);
  }

  expect(environmentVariables.map(({ name }) => name).toSorted()).toEqual([...read].toSorted());
});
