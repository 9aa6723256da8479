import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogRecord } from '@toolhive/contract/log-record';
import { expect, test } from 'vitest';
import { Logs } from './logs.ts';

async function openLogs() {
  const directory = await mkdtemp(join(tmpdir(), 'thv-logs-'));
  return {
    logs: new Logs(directory),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

const textsOf = (records: readonly LogRecord[]): string[] => records.map(({ text }) => text);

test.each<[string, Partial<LogRecord>]>([
  ['[stdout] not a message', { stream: 'stdout', level: 'info', text: 'not a message' }],
  ['[toolhive] a file is hidden', { stream: 'proxy', level: 'info', text: 'a file is hidden' }],
  ['WARN cannot connect', { stream: 'stderr', level: 'warn' }],
  ['2026-01-01 error: it failed', { stream: 'stderr', level: 'error' }],
  ['{"level":"debug","msg":"an error"}', { level: 'debug' }],
  ['{"level":50,"msg":"fine"}', { level: 'error' }],
  ['terror and information', { level: 'info' }],
])('the line %s is described', async (line, expected) => {
  await using opened = await openLogs();
  await using file = await opened.logs.open('echo', 'server');

  file.write(`${line}\n`);

  const [record] = await opened.logs.records('echo', 'server', { lines: 10 }, { isHttp: false });
  expect(record).toMatchObject(expected);
  expect(Date.now() - Date.parse(record?.at ?? '')).toBeLessThan(60_000);
});

test('lines are read backwards page by page, also across the two files and with any bytes', async () => {
  await using opened = await openLogs();
  await using file = await opened.logs.open('echo', 'server');
  const filler = 'x'.repeat(10_000);
  for (let at = 0; at < 600; at += 1) {
    const bytes = Buffer.from([0xff, 0xc3]); // no UTF-8
    file.write(Buffer.concat([Buffer.from(`${at} ä`), bytes, Buffer.from(`${filler}\n`)]));
    await file.flushed(); // what comes during a rotation may be dropped
  }

  const pages: LogRecord[][] = [];
  let before: number | undefined;
  do {
    const page = await opened.logs.records('echo', 'server', { lines: 70, before }, { isHttp: false });
    if (page.length === 0) break;
    pages.unshift(page);
    before = page[0]?.line;
  } while (before !== undefined);

  const numbers = pages.flat().map(({ text }) => parseInt(text));
  expect(numbers.at(-1)).toBe(599);
  expect(numbers.length).toBeGreaterThan(450);
  expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
});

test('what follows has the positions that it has when it is read again', async () => {
  await using opened = await openLogs();
  await using file = await opened.logs.open('echo', 'server');
  const stop = new AbortController();
  file.write('one\ntwo\n');
  const options = { isHttp: false, signal: stop.signal };
  const followed = opened.logs.followRecords('echo', 'server', { lines: 1 }, options);
  const seen: LogRecord[] = [(await followed.next()).value as LogRecord];

  const third = followed.next();
  file.write('th');
  file.write('ree ä\nfour\n');
  seen.push((await third).value as LogRecord, (await followed.next()).value as LogRecord);
  stop.abort();

  const all = await opened.logs.records('echo', 'server', { lines: 10 }, { isHttp: false });
  expect(textsOf(seen)).toEqual(['two', 'three ä', 'four']);
  expect(seen.map(({ line }) => line)).toEqual(all.slice(1).map(({ line }) => line));
});

test('many followers that read nothing share the memory of a few, and there are not too many', async () => {
  await using opened = await openLogs();
  await using file = await opened.logs.open('echo', 'server');
  const stop = new AbortController();
  const follow = () => opened.logs.follow('echo', 'server', { lines: 0 }, stop.signal);
  const followers = Array.from({ length: 256 }, follow);
  const lines = `${'x'.repeat(99)}\n`.repeat(5_000); // half a megabyte
  file.write(lines);

  const [first] = followers;
  const piece = (await first?.next())?.value ?? '';

  expect(piece).toContain('characters were dropped here');
  expect(follow).toThrow('256 callers already follow logs');
  expect(() =>
    opened.logs.followRecords('echo', 'server', { lines: 0 }, { isHttp: false, signal: stop.signal }),
  ).toThrow('256 callers already follow logs');
});

test('a follower that gives up before it reads leaves its place', async () => {
  await using opened = await openLogs();
  for (let i = 0; i < 300; i += 1) {
    const stop = new AbortController();
    opened.logs.follow('echo', 'server', { lines: 0 }, stop.signal);
    stop.abort();
  }

  const { signal } = new AbortController();

  expect(() => opened.logs.follow('echo', 'server', { lines: 0 }, signal)).not.toThrow();
});
