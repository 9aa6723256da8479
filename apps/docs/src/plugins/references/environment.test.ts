import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { environmentVariables } from './environment.ts';

const root = new URL('../../../../..', import.meta.url).pathname;

test('lists the environment variables that the product reads, and no others', async () => {
  const read = new Set<string>();
  for await (const path of glob(`${root}{packages/*,apps/cli}/src/**/*.ts`, {
    exclude: (name) => ['node_modules', 'testing', 'operator'].includes(name), // the operator sets variables for its own pods
  })) {
    if (path.endsWith('.test.ts')) continue;
    for (const [name] of (await readFile(path, 'utf8')).matchAll(/\bTOOLHIVE_[A-Z_]*[A-Z]\b/g))
      read.add(name);
  }

  expect(environmentVariables.map(({ name }) => name).toSorted()).toEqual([...read].toSorted());
});
