// Writes the pages and files of the documentation site that are made from definitions. They are not committed, because
// every build of the site makes them again.
import { glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { openApiDocument } from '@toolhive/contract/openapi';
import { projectJsonSchema } from '@toolhive/contract/project';
import { registryJsonSchema } from '@toolhive/contract/registry';
import { crdFiles, resources } from '@toolhive/operator/crds';
import { program } from '@toolhive/cli/commands';
import { apiSpec } from '../apps/docs/src/plugins/references/api-spec.ts';
import { cliPages } from '../apps/docs/src/plugins/references/cli.ts';
import { clientLibraryReference } from '../apps/docs/src/plugins/references/client-libraries.ts';
import { clientReference } from '../apps/docs/src/plugins/references/clients.ts';
import { crdReference } from '../apps/docs/src/plugins/references/crds.ts';
import { environmentReference } from '../apps/docs/src/plugins/references/environment.ts';
import { errorReference } from '../apps/docs/src/plugins/references/errors.ts';
import { eventReference } from '../apps/docs/src/plugins/references/events.ts';
import { glossaryReference } from '../apps/docs/src/plugins/references/glossary.ts';
import { extensionReference } from '../apps/docs/src/plugins/references/extensions.ts';
import { featureReference } from '../apps/docs/src/plugins/references/features.ts';
import { limitReference } from '../apps/docs/src/plugins/references/limits.ts';
import { performanceReference } from '../apps/docs/src/plugins/references/performance.ts';
import { registryReference } from '../apps/docs/src/plugins/references/registry-schema.ts';
import { feedPath, releaseReference } from '../apps/docs/src/plugins/references/releases.ts';
import {
  permissionProfileReference,
  runConfigReference,
} from '../apps/docs/src/plugins/references/run-config.ts';
import { settingsReference } from '../apps/docs/src/plugins/references/settings.ts';
import {
  troubleshootingReference,
  type WrittenPage,
} from '../apps/docs/src/plugins/references/troubleshooting.ts';
import { storageReference } from '../apps/docs/src/plugins/references/storage.ts';
import figures from '../bench/data/published.json' with { type: 'json' };
import compatibility from '../e2e/compatibility/results.json' with { type: 'json' };

const root = new URL('..', import.meta.url).pathname;
const pages = 'apps/docs/docs';
const guides = `${pages}/toolhive`;
const references = `${guides}/reference`;
const staticFiles = 'apps/docs/static';

/** The same patterns as in `.gitignore`: every file that matches belongs to this script. */
const owned = [
  `${guides}/_*.md`,
  `${references}/_*.md`,
  `${references}/cli/*.md`,
  `${staticFiles}/api-specs/*`,
];

/** Every file, by its path from the root of the repository. */
async function siteFiles(): Promise<Record<string, string>> {
  const below = (folder: string, files: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
  return {
    ...below(`${staticFiles}/api-specs`, {
      'toolhive-api.yaml': await apiSpec(openApiDocument(), program),
      'toolhive-crds.yaml': Object.values(crdFiles()).join('---\n'),
      'project.schema.json': `${JSON.stringify(projectJsonSchema(), null, 2)}\n`,
      'registry.schema.json': `${JSON.stringify(registryJsonSchema(), null, 2)}\n`,
    }),
    ...below(references, {
      '_client-libraries.md': clientLibraryReference(compatibility),
      '_clients.md': clientReference(),
      '_crds.md': crdReference(resources),
      '_environment-variables.md': environmentReference(),
      '_errors.md': errorReference(),
      '_events.md': eventReference(),
      '_glossary.md': glossaryReference(),
      '_extensions.md': extensionReference(),
      '_features.md': featureReference(),
      '_limits.md': limitReference(),
      '_performance.md': performanceReference(figures),
      '_permission-profile.md': permissionProfileReference(),
      '_registry-schema.md': registryReference(registryJsonSchema()),
      '_releases.md': releaseReference(),
      '_run-config.md': runConfigReference(),
      '_settings.md': settingsReference(),
      '_storage.md': storageReference(),
    }),
    ...below(guides, { '_troubleshooting.md': `${troubleshootingReference(await writtenPages())}\n` }),
    ...cliPages(program),
  };
}

/** Every page that people write, by its path from the folder of guides. */
async function writtenPages(): Promise<WrittenPage[]> {
  const folder = join(root, guides);
  const paths = await Array.fromAsync(glob('**/*.mdx', { cwd: folder }));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(folder, path), 'utf8') })));
}

/** Writes the files that differ, and removes those that no definition makes any longer. */
export async function writeSiteFiles(): Promise<void> {
  const files = await siteFiles();
  for await (const path of glob(owned, { cwd: root })) {
    if (!(path in files)) await rm(join(root, path));
  }
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path);
    const present = await readFile(file, 'utf8').catch(() => undefined); // not written yet
    if (present === text) continue; // the time of a file tells whether the site is current
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** The links and imports of pages that lead to no page and no file, one sentence each. */
export async function findBrokenReferences(): Promise<string[]> {
  const made = await siteFiles();
  const sources = new Map(Object.entries(made).filter(([path]) => path.endsWith('.md')));
  const committed = await Array.fromAsync(glob([`${pages}/**/*`, `${staticFiles}/**/*`], { cwd: root }));
  const known = new Set([
    ...committed.filter((path) => !isOwned(path)),
    ...Object.keys(made),
    staticFiles + feedPath, // the build writes the feed
  ]);
  for (const path of committed.filter((one) => one.endsWith('.mdx')))
    sources.set(path, await readFile(join(root, path), 'utf8'));
  return [...sources].flatMap(([path, text]) => brokenIn(path, text, known));
}

/** The references of a page that are not in the set. Exported for tests. */
export function brokenIn(path: string, text: string, known: ReadonlySet<string>): string[] {
  const prose = text.replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2 *$/gm, (code) => code.replaceAll(/[^\n]/g, ' '));
  const found = prose.matchAll(
    /(?:\]\(|\bfrom ')(?<file>\.{1,2}\/[^)#?'\s]+)|pathname:\/\/\/(?<served>[^)#"'\s]+)/g,
  );
  return [...found].flatMap(({ groups, index }) => {
    const target =
      groups?.['file'] === undefined
        ? `${staticFiles}/${groups?.['served']}`
        : posix.join(posix.dirname(path), groups['file']);
    if (known.has(target)) return [];
    return [`${path}:${text.slice(0, index).split('\n').length}: ${target} does not exist`];
  });
}

function isOwned(path: string): boolean {
  return owned.some((pattern) => posix.matchesGlob(path, pattern));
}

if (import.meta.main) await writeSiteFiles();
