// Writes every committed file that is made from a definition: `npm run generate`. The check compares instead.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openApiDocument } from '@toolhive/contract/openapi';
import { projectJsonSchema } from '@toolhive/contract/project';
import { RunConfig } from '@toolhive/contract/run-config';
import { registryJsonSchema } from '@toolhive/contract/registry';
import { chartReadme } from '@toolhive/operator/chart-readme';
import type { ChartFiles } from '@toolhive/operator/chart-readme';
import { deployFiles } from '@toolhive/operator/charts';
import { crdFiles } from '@toolhive/operator/crds';
import { format, resolveConfig } from 'prettier';
import * as z from 'zod';
import { clientGuides } from '../apps/docs/src/plugins/references/client-guides.ts';
import { drawDiagrams, findUndrawn } from '../apps/docs/src/plugins/diagrams/draw.ts';

/** Every generated data file, by its path from the root, with the function that creates its content. */
const generatedData: Record<string, () => object> = {
  'packages/contract/generated/openapi.json': openApiDocument,
  'packages/contract/generated/run-config.schema.json': () =>
    z.toJSONSchema(RunConfig, { io: 'input', override: keepExamples }),
  'packages/contract/generated/project.schema.json': projectJsonSchema,
  'packages/contract/generated/registry.schema.json': registryJsonSchema,
};

/** Zod omits the examples of a schema that also reads other forms. */
function keepExamples({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodType;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}) {
  const { examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (Array.isArray(examples)) jsonSchema.examples = examples;
}

/** Every other generated file, by its path from the root. */
async function generatedTexts(): Promise<Record<string, string>> {
  return {
    ...below('packages/operator/generated/', crdFiles()),
    ...below('deploy/', deployFiles()),
    ...below('apps/docs/docs/toolhive/guides-clients/', clientGuides()),
    ...(await chartReadmes('toolhive-operator', 'toolhive-operator-crds')),
  };
}

/** The README files of charts, from the files that Helm reads. */
async function chartReadmes(...names: string[]): Promise<Record<string, string>> {
  const readmes = names.map(async (name) => {
    const read = (file: string): Promise<string> =>
      readFile(fromRoot(`deploy/charts/${name}/${file}`), 'utf8');
    const files: ChartFiles = {
      'Chart.yaml': await read('Chart.yaml'),
      'values.yaml': await read('values.yaml'),
      'values.schema.json': await read('values.schema.json'),
    };
    return [`deploy/charts/${name}/README.md`, chartReadme(files)] as const;
  });
  return Object.fromEntries(await Promise.all(readmes));
}

/** The generated files that differ from their definitions, one sentence each. */
export async function findStale(): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of await makeAll()) {
    const present = await readFile(fromRoot(path), 'utf8').catch(() => undefined); // not there is stale, too
    if (present === text) continue;
    const lines = text.split('\n');
    const had = present?.split('\n') ?? [];
    const line = lines.findIndex((made, index) => made !== had[index]);
    stale.push(
      `${path} differs from its definition (line ${line + 1}: ${lines[line]?.trim()}, not ${had[line]?.trim()}); run npm run generate`,
    );
  }
  return [...stale, ...(await findUndrawn())];
}

async function makeAll(): Promise<[string, string][]> {
  const options = await resolveConfig(fromRoot('package.json'));
  const texts = [
    ...Object.entries(generatedData).map(([path, make]) => [path, JSON.stringify(make())] as const),
    ...Object.entries(await generatedTexts()),
  ];
  return Promise.all(
    texts.map(async ([path, text]): Promise<[string, string]> => [
      path,
      await format(text, { ...options, filepath: path }),
    ]),
  );
}

function below(folder: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [folder + name, text]));
}

function fromRoot(path: string): string {
  return new URL(`../${path}`, import.meta.url).pathname;
}

if (import.meta.main) {
  for (const [path, text] of await makeAll()) {
    await mkdir(dirname(fromRoot(path)), { recursive: true });
    await writeFile(fromRoot(path), text);
  }
  await drawDiagrams();
}
