import { readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Statuses } from '@toolhive/state/statuses';
import { makeHome } from '../testing/test-core.ts';
import { RecordedState } from './recorded-state.ts';
import type { Condition } from './state.ts';

const createdAt = '2026-01-01T00:00:00.000Z';
const running: Condition = { status: 'running', createdAt };

test('writes a state to disk before it tells anyone', async () => {
  await using world = await openWorld(running);

  await world.state.record({ status: 'error', context: 'it failed', isOffered: true });

  expect(world.toldOf).toEqual(['error on disk']);
});

test('facts wait until an intent is on disk, so that they do not overwrite it', async () => {
  await using world = await openWorld(running);
  const steps: string[] = [];

  const committing = world.state.commit({ status: 'removing' }, () => steps.push('committed'));
  const fact = world.state.committed().then(() => steps.push(`fact: ${world.state.current.status}`));
  await Promise.all([committing, fact]);

  expect(steps).toEqual(['committed', 'fact: removing']);
  expect(await world.onDisk()).toBe('removing');
});

test('an intent that cannot be written changes nothing, and facts wait no longer', async () => {
  await using world = await openWorld(running);
  await mkdir(join(world.directory, 'test.json', 'in-the-way'), { recursive: true });
  let isCommitted = false;

  const committing = world.state.commit({ status: 'removing' }, () => (isCommitted = true));
  const fact = world.state.committed();

  await expect(committing).rejects.toThrow('cannot write');
  await fact;
  expect([world.state.current.status, isCommitted, world.toldOf]).toEqual(['running', false, []]);
});

test('an attempt tells why the last one failed, also while it reports', async () => {
  await using world = await openWorld(running);
  const lastFailure = 'the server exited with code 1';

  await world.state.record({ status: 'starting', context: 'attempt 2', isOffered: true, lastFailure });
  const atFirst = world.state.condition.context;
  world.state.report('installing it');
  const later = world.state.condition.context;
  await world.state.record({ status: 'running', isOffered: true });

  expect(atFirst).toBe('attempt 2 (the last attempt failed: the server exited with code 1)');
  expect(later).toBe('installing it (the last attempt failed: the server exited with code 1)');
  expect(world.state.condition.context).toBeUndefined();
});

test('a fact that cannot be written is still one, and the reason is returned', async () => {
  await using world = await openWorld(running);
  await mkdir(join(world.directory, 'test.json', 'in-the-way'), { recursive: true });

  const unsaved = await world.state.record({ status: 'stopped' });

  expect(unsaved).toContain('cannot write');
  expect(world.state.condition.status).toBe('stopped');
});

test.each<[string, Condition, boolean]>([
  ['runs', running, true],
  ['has failed after it worked', { status: 'error', createdAt, hasWorked: true }, true],
  ['has never worked', { status: 'starting', createdAt }, false],
  ['was stopped', { status: 'stopped', createdAt, hasWorked: true }, false],
])(
  'clients may rely on a restored workload only if it should run and has worked: it %s',
  async (...given) => {
    const [, condition, isOffered] = given;

    await using world = await openWorld(condition);

    expect('isOffered' in world.state.current && world.state.current.isOffered).toBe(isOffered);
  },
);

async function openWorld(condition: Condition) {
  await using opened = new AsyncDisposableStack();
  const { path: directory } = opened.use(await makeHome());
  const statuses = opened.use(new Statuses(directory, pino({ level: 'silent' })));
  const onDisk = async (): Promise<string | undefined> => {
    const stored = await statuses.read('test');
    return stored === 'unreadable' ? stored : stored?.status;
  };
  const toldOf: string[] = [];
  const state = new RecordedState(condition, {
    workload: 'test',
    statuses,
    onChange: () => toldOf.push(`${readNow(join(directory, 'test.json'))} on disk`),
  });
  const everything = opened.move();
  return {
    directory,
    state,
    toldOf,
    onDisk,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Synchronous, to read the file at the very moment of the call. */
function readNow(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return 'nothing';
  return (JSON.parse(readFileSync(path, 'utf8')) as Condition).status;
}
