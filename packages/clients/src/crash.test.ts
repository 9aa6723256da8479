// @suite faults
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { diesAtStep } from '@toolhive/testing/killed-process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClientFiles } from './client-files.ts';
import type { Entry } from './entry.ts';

const text = '{\n  "mcpServers": {\n    "mine": {} // mine\n  }\n}\n';
const port = (name: string, number: number): Entry => ({
  name,
  url: `http://localhost:${number}/sse#${name}`,
  transport: 'sse',
});
const before = [port('changes', 8081), port('goes', 8082)];
const after = [port('changes', 9091), port('comes', 8083)];

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-crash-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const fileOf = (home: string): string => join(home, '.cursor/mcp.json');
const recordOf = (home: string): string => join(home, 'state/client-entries.json');

async function reconcile(home: string, entries: readonly Entry[]): Promise<void> {
  const log = pino({ level: 'silent' });
  const clients = new ClientFiles({ home, platform: 'linux', record: recordOf(home), log });
  await clients.reconcile(new Map([['cursor', entries]]));
  expect(clients.problems).toEqual(new Map());
}

/** The same in a process of its own, which kills itself at the given step; false when there are fewer steps. */
async function reconcileAndDie(home: string, step: number): Promise<boolean> {
  const code = `
    const { ClientFiles } = await import(${JSON.stringify(new URL('client-files.ts', import.meta.url).href)});
    const log = { warn() {}, info() {}, error() {} };
    const home = ${JSON.stringify(home)};
    const clients = new ClientFiles({ home, platform: 'linux', record: ${JSON.stringify(recordOf(home))}, log });
    await clients.reconcile(new Map([['cursor', ${JSON.stringify(after)}]]));
    process.exitCode = clients.problems.size;
  `;
  return diesAtStep(step, code);
}

test(
  'a daemon that is killed at any moment leaves a whole file, and knows what is its own',
  { timeout: 300_000 },
  async () => {
    const start = join(directory, 'start');
    await mkdir(dirname(fileOf(start)), { recursive: true });
    await writeFile(fileOf(start), text);
    await reconcile(start, before);
    const old = await readFile(fileOf(start), 'utf8');
    const end = join(directory, 'end');
    await cp(start, end, { recursive: true });
    await reconcile(end, after);
    const wanted = await readFile(fileOf(end), 'utf8');

    const dieAt = async (step: number): Promise<boolean> => {
      const killed = join(directory, `killed-${step}`);
      await cp(start, killed, { recursive: true });
      const hasDied = await reconcileAndDie(killed, step);
      const emptied = join(directory, `emptied-${step}`);
      await cp(killed, emptied, { recursive: true });

      expect([old, wanted]).toContain(await readFile(fileOf(killed), 'utf8'));

      await reconcile(killed, after);
      expect(await readFile(fileOf(killed), 'utf8')).toBe(wanted);
      expect(await readdir(dirname(fileOf(killed)))).toEqual(['mcp.json']);
      expect(await readFile(recordOf(killed), 'utf8')).toBe(await readFile(recordOf(end), 'utf8'));
      await reconcile(emptied, []);
      expect(await readFile(fileOf(emptied), 'utf8')).toBe(text);
      return hasDied;
    };
    let steps = 0;
    while ((await Promise.all([dieAt(steps), dieAt(steps + 1)])).every(Boolean)) steps += 2;

    expect(steps).toBeGreaterThan(15);
  },
);
