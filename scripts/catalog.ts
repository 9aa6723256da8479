// Runs the servers of the catalog: `npm run catalog -- verify [NAME…]` compares their tools with the catalog, and
// `npm run catalog -- update [NAME…]` takes their newest versions and shows what changed. Needs the built `thv`, the
// package registries, and uv for PyPI packages. No server gets an account, or the network unless the server needs the network to start.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Entry {
  image: string;
  tools: string[];
  env_vars?: { name: string; required: boolean; default?: string }[];
}

/** The verified facts about a server in the catalog. */
interface Found {
  image: string;
  tools: string[];
}

const root = new URL('..', import.meta.url).pathname;
const file = join(root, 'packages/registry/src/catalog.json');
const script = join(root, 'apps/cli/bin/thv.js');

/** Values for variables that a server checks at its start. */
const samples: [pattern: RegExp, value: string][] = [
  [/^DSN$/, 'sqlite:///:memory:'],
  [/URL$/, 'https://example.com'],
  [/^MAPBOX_/, 'pk.eyJ1IjoieCJ9.x'],
];

async function main([command, ...names]: readonly string[]): Promise<void> {
  if (command !== 'verify' && command !== 'update')
    throw new Error('use verify or update, and perhaps names');
  const catalog = JSON.parse(await readFile(file, 'utf8')) as { servers: Record<string, Entry> };
  const unknown = names.filter((name) => !Object.hasOwn(catalog.servers, name));
  if (unknown.length > 0) throw new Error(`the catalog has no server ${unknown.join(', ')}`);
  let failed = 0;
  for (const [name, entry] of Object.entries(catalog.servers)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const image = command === 'update' ? entry.image.replace(/(?<=.)@[^@/]*$/, '') : entry.image;
    try {
      const found = await inspect(image, entry);
      const changes = differences(entry, found);
      process.stdout.write(`${name}: ${changes.length === 0 ? 'unchanged' : changes.join('; ')}\n`);
      if (command === 'verify' && changes.length > 0) failed += 1;
      Object.assign(entry, found);
    } catch (error) {
      failed += 1;
      process.stdout.write(`${name}: FAILED: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  if (command === 'update') await writeFile(file, `${JSON.stringify(catalog, null, 2)}\n`);
  if (failed > 0) process.exitCode = 1;
}

function differences(before: Entry, after: Found): string[] {
  const added = after.tools.filter((tool) => !before.tools.includes(tool));
  const removed = before.tools.filter((tool) => !after.tools.includes(tool));
  return [
    ...(before.image === after.image ? [] : [`${before.image} is now ${after.image}`]),
    ...(added.length === 0 ? [] : [`new tools ${added.join(', ')}`]),
    ...(removed.length === 0 ? [] : [`removed tools ${removed.join(', ')}`]),
  ];
}

/** Runs a server in the sandbox, as a user with a temporary home, and lists its tools. */
async function inspect(image: string, { env_vars: variables = [] }: Entry): Promise<Found> {
  const home = await mkdtemp(join(tmpdir(), 'thv-catalog-'));
  const env = {
    ...process.env,
    npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
    HOME: home,
    TOOLHIVE_RUNTIME: 'process',
  };
  const thv = async (...words: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--', script, ...words], {
      env,
      maxBuffer: 64 * 1024 * 1024,
      timeout: limitMs,
    });
    return stdout;
  };
  const values = variables.flatMap(({ name, required, default: preset }) =>
    required && preset === undefined ? ['--env', `${name}=${sampleOf(name)}`] : [],
  );
  const words = ['run', '--name', 'probe', ...values, '--format', 'json'];
  try {
    const ran = await thv(...words, '--permission-profile', 'none', image).catch(async () => {
      await thv('rm', 'probe');
      return thv(...words, '--permission-profile', 'network', image);
    });
    const { package: pinned } = JSON.parse(ran) as { package: string };
    const listed = await thv('mcp', 'list', 'tools', '--server', 'probe', '--format', 'json');
    const { tools } = JSON.parse(listed) as { tools: { name: string }[] };
    return { image: pinned, tools: [...new Set(tools.map(({ name }) => name))].toSorted() };
  } finally {
    await thv('rm', 'probe').catch(() => {}); // the workload may not exist
    // The daemon ends when its directory is gone.
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Longer than any installation and start. */
const limitMs = 300_000;

function sampleOf(name: string): string {
  return samples.find(([pattern]) => pattern.test(name))?.[1] ?? 'placeholder';
}

await main(process.argv.slice(2));
