// @suite e2e (in depth)
import { PermissionProfile } from '@toolhive/contract/permission-profile';
import { AuthoredRegistry } from '@toolhive/contract/registry';
import { RunConfig } from '@toolhive/contract/run-config';
import { resources } from '@toolhive/operator/crds';
import { afterAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Document } from 'yaml';
import { program } from '@toolhive/cli/commands';
import { understand } from '@toolhive/cli/program';
import { callsOf, readPages } from './testing/pages.ts';
import type { Block, Page } from './testing/pages.ts';
import { openReader } from './testing/reader.ts';
import { docsCache, pathWithUv } from './testing/package-cache.ts';
import { makeUser, publicRegistries } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// What a page marks is done as its reader would do it:
//
//   ```bash run                            is run, and succeeds
//   ```bash run fails                      is run, and fails
//   ```bash cluster                        is run in a cluster with the operator by cluster/guides.test.ts
//   ```bash cluster background             is run there, and a client calls the URL in its output
//   ```bash helm                           is run in a cluster without the operator by cluster/guides.test.ts
//   ```bash skip="needs an account"        is not run, for one of the reasons in this file
//   ```bash run background                 is run, until the page ends
//   ```json title="profile.json" file      is written to a file of that name
//   ```text title="Output"                 is the output of the block before it. … replaces any text
//   {/* run: COMMAND */}                   is run, and readers do not see it
//   {/* run background: COMMAND */}        is run until the page ends, and readers do not see it
//   {/* end background */}                 ends everything that runs in the background
//   {/* types: [["Sure?", "y\r"]] */}      types into the terminal of the next block when it shows the text

const pages = await readPages();
const runnable = pages.filter(({ blocks }) => blocks.some(({ marks }) => marks.includes('run')));

/** The longest page starts more than twenty servers, and several pages run at once. */
const pageTimeoutMs = 300_000;

const reading = {
  env: {
    ...publicRegistries(),
    PATH: await pathWithUv(),
    npm_config_prefer_offline: 'true',
    XDG_CACHE_HOME: docsCache,
  },
};
const homes = openUsedHomes(reading);
/** These pages undo what they do, and keep the secret store. */
const homesWithSecrets = openUsedHomes(reading, {
  harmless: ['unmanaged-servers.json'],
  withSecretStore: true,
});
afterAll(async () => {
  await homes[Symbol.asyncDispose]();
  await homesWithSecrets[Symbol.asyncDispose]();
});

function homeFor(page: Page): Promise<User> {
  if (readsRecords(page)) return makeUser(reading);
  return needsSecrets(page) ? homesWithSecrets.take() : homes.take();
}

describe.concurrent('commands on pages', () => {
  test.each(runnable.filter((page) => !isAboutClient(page)).map((page) => [page.path, page] as const))(
    'do what %s says',
    { timeout: pageTimeoutMs },
    async (_, page) => {
      await using user = await homeFor(page);

      for await (const { where, printed, wanted } of outputsOf(page, user))
        expect(printed, `what ${where} prints`).toEqual(wanted);
    },
  );

  test('come before every block with the title Output', () => {
    const strays = pages.flatMap(({ blocks }) =>
      blocks
        .filter(({ title }, index) => title === 'Output' && !isRun(blocks[index - 1]?.marks ?? []))
        .map(({ where }) => where),
    );

    expect(strays).toEqual([]);
  });

  test('exist, with all their flags', async () => {
    const calls = pages.flatMap(({ blocks }) =>
      blocks
        .filter(({ language, marks }) => language === 'bash' && !marks.includes('fails'))
        .flatMap(({ text, where }) => callsOf(text).map((words) => ({ words, where }))),
    );

    const mistakes: string[] = [];
    for (const { words, where } of calls) {
      await understand(program, words).catch((mistake: Error) => {
        mistakes.push(`${where}: thv ${words.join(' ')}: ${mistake.message}`);
      });
    }

    expect(calls.length).toBeGreaterThan(100);
    expect(mistakes).toEqual([]);
  });
});

// One after the other, so that they share a home.
describe('commands on pages about a client', () => {
  test.each(runnable.filter(isAboutClient).map((page) => [page.path, page] as const))(
    'do what %s says',
    { timeout: pageTimeoutMs },
    async (_, page) => {
      await using user = await homesWithSecrets.take();

      for await (const { where, printed, wanted } of outputsOf(page, user))
        expect(printed, `what ${where} prints`).toEqual(wanted);
    },
  );
});

/** Whether a page shows records of the past, among which those of other pages would appear. */
function readsRecords({ blocks }: Page): boolean {
  return blocks.some(({ text }) => /^thv (?:audit|top|traffic)\b/m.test(text));
}

/** Whether a page needs a secret store, and does not show how to set it up. */
function needsSecrets({ blocks }: Page): boolean {
  const text = blocks.filter(({ marks }) => marks.includes('run')).map((block) => block.text);
  return /^thv (?:adopt|secret|up)\b/m.test(text.join('\n')) && !text.join('\n').includes('thv secret setup');
}

function isAboutClient({ path }: Page): boolean {
  return path.startsWith('toolhive/guides-clients/');
}

/** Does what a page says, and yields what each command prints. */
async function* outputsOf(page: Page, user: User) {
  await using reader = await openReader(user, page);
  for (const [index, block] of page.blocks.entries()) {
    if (block.marks.includes('file')) await reader.write(block);
    if (block.marks.includes('end')) await reader.endBackground();
    if (!block.marks.includes('run')) continue;
    yield { where: block.where, ...(await reader.run(block, outputAfter(page, index))) };
  }
}

/** The reasons in `skip` marks. */
const reasons = [
  'builds ToolHive',
  'changes the machine',
  'names an example',
  'needs a Go module',
  'needs a container registry',
  'needs an account',
  'needs another program',
  'needs public hosts',
  'needs the nodes of a cluster',
];

describe('every block for a shell', () => {
  const blocks = pages
    .flatMap((page) => page.blocks)
    .filter(({ language, isHidden }) => language === 'bash' && !isHidden);
  const skipped = blocks.filter(({ skip }) => skip !== undefined);

  test('either runs or has a known reason', () => {
    const unclear = blocks.filter(({ marks, skip }) => isRun(marks) === (skip !== undefined));
    const used = new Set(skipped.map(({ skip }) => skip));

    expect(unclear.map(({ where, text }) => `${where}: ${text}`)).toEqual([]);
    expect(used).toEqual(new Set(reasons));
  });

  test('runs in four of five cases', () => {
    expect(1 - skipped.length / blocks.length).toBeGreaterThanOrEqual(0.8);
  });
});

/** cluster/guides.test.ts runs the blocks with the marks `cluster` and `helm`. */
function isRun(marks: readonly string[]): boolean {
  return ['run', 'cluster', 'helm'].some((mark) => marks.includes(mark));
}

test('JSON and YAML on pages can be read by what they are for', () => {
  const blocks = pages.flatMap((page) => page.blocks);

  const problems = blocks.flatMap((block) =>
    problemsOf(block).map((problem) => `${block.where}: ${problem}`),
  );

  expect(blocks.filter(({ language }) => language === 'json')).not.toEqual([]);
  expect(problems).toEqual([]);
});

function problemsOf({ language, text }: Block): string[] {
  try {
    if (language === 'json') checkData(JSON.parse(text) as object);
    return language === 'yaml' ? parseAllDocuments(text).flatMap(problemsOfDocument) : [];
  } catch (problem) {
    return [String(problem)];
  }
}

/** Holds a resource of the operator to its kind. */
function problemsOfDocument(document: Document.Parsed): string[] {
  const found = document.toJS() as { kind?: string; spec?: object };
  const known = resources.find(({ kind }) => kind === found.kind);
  if (known) expect(known.spec.parse(found.spec)).toMatchObject(found.spec ?? {}); // it leaves out what it does not know
  return document.errors.map(String);
}

/** Holds what we have a schema of to that schema. */
function checkData(data: object): void {
  if ('schema_version' in data) RunConfig.parse(data);
  else if ('last_updated' in data && 'servers' in data) AuthoredRegistry.parse(data);
  else if (isProfile(data)) expect(PermissionProfile.parse(data)).toEqual(data); // it leaves out what it does not know
}

function isProfile(data: object): boolean {
  const keys = Object.keys(data);
  return keys.length > 0 && keys.every((key) => ['read', 'write', 'network', 'privileged'].includes(key));
}

function outputAfter({ blocks }: Page, index: number): Block | undefined {
  const next = blocks[index + 1];
  return next?.title === 'Output' ? next : undefined;
}
