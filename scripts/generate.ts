// Writes every file that is made from a definition: `npm run generate`. The check compares instead.
import { readFile, writeFile } from 'node:fs/promises';
import { openApiDocument } from '@toolhive/contract/openapi';
import { RunConfig } from '@toolhive/contract/run-config';
import { registryJsonSchema } from '@toolhive/contract/registry';
import { format, resolveConfig } from 'prettier';
import * as z from 'zod';
import cli from '../apps/cli/package.json' with { type: 'json' };

/** Every generated file, by its path from the root, and what it is made of. */
const generated: Record<string, () => object> = {
  'packages/contract/generated/openapi.json': () => openApiDocument(`v${cli.version}`),
  'packages/contract/generated/run-config.schema.json': () => z.toJSONSchema(RunConfig, { io: 'input' }),
  'packages/contract/generated/registry.schema.json': registryJsonSchema,
};

/** The generated files that differ from what their definitions make, a sentence each. */
export async function findStale(): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of await makeAll()) {
    const present = await readFile(fromRoot(path), 'utf8').catch(() => undefined); // not there is stale, too
    if (present !== text) stale.push(`${path} is not what its definition makes; run npm run generate`);
  }
  return stale;
}

async function makeAll(): Promise<[string, string][]> {
  const options = await resolveConfig(fromRoot('package.json'));
  return Promise.all(
    Object.entries(generated).map(async ([path, make]) => {
      const text = await format(JSON.stringify(make()), { ...options, filepath: path });
      return [path, text] as [string, string];
    }),
  );
}

function fromRoot(path: string): string {
  return new URL(`../${path}`, import.meta.url).pathname;
}

if (import.meta.main) {
  for (const [path, text] of await makeAll()) await writeFile(fromRoot(path), text);
}
