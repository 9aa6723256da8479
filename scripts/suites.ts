import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  browserPrograms,
  desktopBrowserPrograms,
  enginePrograms,
  keyringPrograms,
  proxyPrograms,
  sandboxPrograms,
  shellPrograms,
  storagePrograms,
} from '@toolhive/testing/machine';
import type { SystemProgram } from '@toolhive/testing/machine';

interface Suite {
  summary: string;
  /** Whether `npm test` runs the suite by default. With `CI=true`, it runs all suites. */
  isDefault: boolean;
  /** System programs. A suite that needs none is run without any installation. */
  programs: readonly SystemProgram[];
  /** Whether the tests start the built programs. */
  needsBuild: boolean;
}

const servers = [...sandboxPrograms, ...keyringPrograms];
const containers = [...servers, ...enginePrograms];

/** All suites. Vitest starts their files in this order, so that no long file is left alone at the end. */
const table = {
  docs: {
    summary: 'the documentation site in a browser',
    isDefault: true,
    programs: browserPrograms,
    needsBuild: false,
  },
  engines: {
    summary: 'all other container engines and set-ups, with all attacks',
    isDefault: false,
    programs: containers,
    needsBuild: true,
  },
  faults: {
    summary: 'crashes at every step, random faults, and random requests',
    isDefault: false,
    programs: containers,
    needsBuild: true,
  },
  screenshots: {
    summary: 'screenshots of the documentation and the web UI',
    isDefault: false,
    programs: [...servers, ...browserPrograms],
    needsBuild: true,
  },
  'published-servers': {
    summary: 'servers from the package registries',
    isDefault: false,
    programs: [...servers, ...desktopBrowserPrograms],
    needsBuild: true,
  },
  conformance: {
    summary: 'the MCP conformance suite with every transport and protocol version',
    isDefault: false,
    programs: servers,
    needsBuild: true,
  },
  ui: {
    summary: 'the web UI with a daemon in a browser',
    isDefault: true,
    programs: [...servers, ...browserPrograms, ...desktopBrowserPrograms],
    needsBuild: true,
  },
  e2e: {
    summary: 'the built thv, as a user types its commands',
    isDefault: true,
    programs: [...containers, ...shellPrograms, ...proxyPrograms, ...storagePrograms],
    needsBuild: true,
  },
  system: {
    summary: 'packages with real sandboxes, networks, and a container engine',
    isDefault: true,
    programs: containers,
    needsBuild: true,
  },
  kubernetes: {
    summary: 'the operator and the charts with a real control plane',
    isDefault: false,
    programs: [...servers, ...enginePrograms],
    needsBuild: true,
  },
  web: {
    summary: 'components of the web UI in a browser',
    isDefault: true,
    programs: browserPrograms,
    needsBuild: false,
  },
  unit: {
    summary: 'pure tests of packages, which need Node.js only',
    isDefault: true,
    programs: [],
    needsBuild: false,
  },
} satisfies Record<string, Suite>;

export type SuiteName = keyof typeof table;
export const suites: Readonly<Record<SuiteName, Suite>> = table;
export const suiteNames = Object.keys(table) as SuiteName[]; // the table has no other keys

/** The suites of folders, the most specific first. */
const folders: readonly (readonly [folder: string, suite: SuiteName])[] = [
  ['e2e/cluster/', 'kubernetes'],
  ['e2e/conformance/', 'conformance'],
  ['e2e/ui/', 'ui'],
  ['e2e/', 'e2e'],
  ['apps/docs/test/', 'docs'],
  ['', 'unit'],
];

/** The environment variable that leaves the files in depth out if it is `no`. */
export const depthVariable = 'TESTS_IN_DEPTH';

const firstLine = /^\/\/ @suite (.+?)( \(in depth\))?\n/;

/**
 * The suites of a test file. A comment such as `// @suite system` in the first line names the suite, otherwise its folder
 * decides. The suite `engines` also runs the files that share their runtimes out.
 */
export function suitesOf(path: string, content: string): SuiteName[] {
  const [, named] = firstLine.exec(content) ?? [];
  if (named !== undefined && !isSuite(named))
    throw new Error(`${path}: unknown suite ${named}. The suites are ${suiteNames.join(', ')}`);
  const own = named ?? folders.find(([folder]) => path.startsWith(folder))?.[1] ?? 'unit';
  return /^import .*\bsharedOut\b/m.test(content) && own !== 'engines' ? [own, 'engines'] : [own];
}

/**
 * Whether `npm test` leaves a file out of its default suites because its first line ends with `(in depth)`: it tests
 * variants, attacks, or invalid input of features that shorter files test, too.
 */
export function isInDepth(content: string): boolean {
  return firstLine.exec(content)?.[2] !== undefined;
}

export function isSuite(word: string): word is SuiteName {
  return Object.hasOwn(table, word);
}

/**
 * The suites with test files whose paths contain one of the words, as Vitest finds files. Other words, such as values of
 * options, name none.
 */
export function suitesWith(words: readonly string[], root: string): SuiteName[] {
  const found = testFiles(root);
  found.set('web', globSync('apps/web/src/**/*.test.tsx', { cwd: root }));
  const paths = words.filter((word) => !word.startsWith('-')).map((word) => word.replace(/^\.\//, ''));
  return suiteNames.filter((name) =>
    found.get(name)?.some((file) => paths.some((path) => file.includes(path))),
  );
}

/**
 * The test files of Node.js, by suite. The tests of web components are in `apps/web/vitest.config.ts`.
 *
 * @param inDepth whether to include the files that the default run leaves out
 */
export function testFiles(root: string, { inDepth = true } = {}): Map<SuiteName, string[]> {
  const files = new Map<SuiteName, string[]>(suiteNames.map((name) => [name, []]));
  const patterns = [
    '{packages,apps}/*/src/**/*.test.ts',
    'apps/docs/test/**/*.test.ts',
    '{bench,e2e,scripts}/**/*.test.ts',
  ];
  for (const path of globSync(patterns, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] })) {
    const content = readFileSync(join(root, path), 'utf8');
    if (!inDepth && isInDepth(content)) continue;
    for (const suite of suitesOf(path, content)) files.get(suite)?.push(path);
  }
  return files;
}
