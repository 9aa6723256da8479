import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import * as z from 'zod';
import { root } from '../testing/places.ts';

/** The revisions of the protocol that the suite has requirements for, and we have servers for. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

const Check = z.object({
  id: z.string(),
  status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
  errorMessage: z.string().optional(),
});
type Check = z.infer<typeof Check>;

export interface Scenario {
  name: string;
  /** Whether the revision requires it: the others are extensions, or newer than the revision. */
  isScored: boolean;
  checks: Check[];
}

/** What the suite tests: a server, or a client that it starts. */
type Leg = 'server' | 'client';

const Requirements = z.object({
  server: z.array(z.string()),
  client: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string() })),
});

/** The suite is a program without a library. */
const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));

/** Where Node.js keeps the compiled code of the suite and of its clients, of which dozens are started. */
const compiled = join(root, '.cache/compiled');

/** A scenario of a server that never answers ends here; the longest takes four seconds. */
const scenarioTimeoutMs = 20_000;

/** The suite starts the clients of all scenarios at once. Each needs a few hundred milliseconds of processor time. */
const clientTimeoutMs = 120_000;

/** Runs the official suite's scenarios for servers of a revision against an endpoint. */
export function runSuite(revision: Revision, url: string): Promise<Scenario[]> {
  return run('server', revision, ['--url', url, '--timeout', String(scenarioTimeoutMs)]);
}

/** Runs one of the scenarios for servers again. */
export async function runScenario(revision: Revision, url: string, name: string): Promise<Scenario> {
  const args = ['--url', url, '--timeout', String(scenarioTimeoutMs)];
  const which = ['--scenario', name, '--spec-version', revision];
  const { checks, complaints } = await checksOf(['server', ...args, ...which]);
  return { name, isScored: true, checks: checks.get(name) ?? didNotRun(complaints) };
}

/** Runs the scenarios for clients, for which the suite starts a program with further environment variables. */
export function runClientSuite(
  revision: Revision,
  program: string,
  env: NodeJS.ProcessEnv,
): Promise<Scenario[]> {
  const command = `${process.execPath} ${program}`;
  return run('client', revision, ['--command', command, '--timeout', String(clientTimeoutMs)], env);
}

/** The scenarios for clients that a revision requires. */
export async function scoredClientScenarios(revision: Revision): Promise<string[]> {
  return (await requirementsOf(revision)).client;
}

async function run(
  leg: Leg,
  revision: Revision,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Scenario[]> {
  const { checks, complaints } = await checksOf([leg, ...args, '--requirements', revision], env);
  const { [leg]: scored, not_scored } = await requirementsOf(revision);
  const unscored = not_scored.filter((one) => one.leg === leg).map(({ scenario }) => scenario);
  return [...scored, ...unscored].map((name) => ({
    name,
    isScored: scored.includes(name),
    checks: checks.get(name) ?? didNotRun(complaints),
  }));
}

function didNotRun(complaints: string): Check[] {
  return [{ id: 'runs', status: 'FAILURE', errorMessage: complaints }];
}

async function checksOf(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ checks: Map<string, Check[]>; complaints: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const complaints = await runProgram([...args, '--output-dir', folder], env);
    return { checks: await readChecks(folder), complaints };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether nothing that the suite looked at was wrong. */
export function passes({ checks }: Scenario): boolean {
  return checks.every(({ status }) => status !== 'FAILURE');
}

/** What was wrong, a line for each scenario: empty is good. */
export function failuresOf(scenarios: readonly Scenario[]): string[] {
  return scenarios
    .filter((scenario) => !passes(scenario))
    .map(({ name, checks }) => {
      const failed = checks.filter(({ status }) => status === 'FAILURE');
      return `${name}: ${failed.map(({ id, errorMessage }) => `${id} (${errorMessage})`).join('; ')}`;
    });
}

/** Runs it to its end and returns what it wrote to standard error; that scenarios fail is told by the checks. */
async function runProgram(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, [suite, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...env },
  });
  const [complaints] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return complaints.trim() || `the suite ended with ${child.exitCode}`;
}

/** The checks of each scenario that ran, from the folders that it left. */
async function readChecks(folder: string): Promise<Map<string, Check[]>> {
  const found = new Map<string, Check[]>();
  // The name of a scenario can have slashes.
  for (const entry of await readdir(folder, { recursive: true })) {
    const [, name] = /^(?:server-)?(.+?)-\d{4}-\d\d-\d\dT[^/]*\/checks\.json$/.exec(entry) ?? [];
    if (name === undefined) continue;
    const content = await readFile(join(folder, entry), 'utf8');
    found.set(name, z.array(Check).parse(JSON.parse(content)));
  }
  return found;
}

async function requirementsOf(revision: Revision): Promise<z.infer<typeof Requirements>> {
  const path = join(dirname(suite), '../requirements', `${revision}.yaml`);
  return Requirements.parse(parse(await readFile(path, 'utf8')));
}
