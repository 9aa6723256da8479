import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogRecord } from '@toolhive/contract/log-record';
import { expect, test } from 'vitest';
import { openTestApi } from '@toolhive/api/testing';

const path = '/api/v1beta/workloads/echo/logs';
const recordsIn = (text: string): LogRecord[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogRecord);

test('logs are plain text, and JSON lines for those who ask for them', async () => {
  await using api = await openTestApi();
  await api.run('echo', 'stderr');
  await using log = await api.core.logs.open('echo', 'server');
  log.write('first line\nWARN second line\nthird line\n');

  const plain = await api.get(path);
  const asked = await api.get(`${path}?format=ndjson`);
  const accepted = await api.get(path, { accept: 'application/x-ndjson' });
  const [, second] = recordsIn(asked.text).slice(-3);
  const before = await api.get(`${path}?format=ndjson&limit=1&before=${second?.line}`);
  const stop = new AbortController();
  const pieces: string[] = [];
  const followed = api.client
    .getWorkloadLogs(
      { params: { name: 'echo' }, query: { format: 'ndjson', follow: 'true', limit: 1 } },
      {
        signal: stop.signal,
        onText(piece) {
          pieces.push(piece);
          if (pieces.join('').includes('fourth')) stop.abort();
          else log.write('fourth line\n');
        },
      },
    )
    .catch(() => {});
  await followed;

  expect(plain.headers['content-type']).toContain('text/plain');
  expect(plain.text).toContain('WARN second line\n');
  expect(asked.headers['content-type']).toBe('application/x-ndjson');
  expect(accepted.text).toBe(asked.text);
  expect(second).toMatchObject({ stream: 'stderr', level: 'warn', text: 'WARN second line' });
  expect(recordsIn(before.text).map(({ text }) => text)).toEqual(['first line']);
  const texts = recordsIn(pieces.join('')).map(({ text }) => text);
  expect(texts.slice(0, 2)).toEqual(['third line', 'fourth line']);
});

test('lines are found by a text and a time in the whole log, and the time itself is no text', async () => {
  await using api = await openTestApi();
  await api.run('echo', 'stderr');
  const file = join(api.home, '.local/share/toolhive/logs/echo.server.log');
  await api.client.stopWorkload({ params: { name: 'echo' } }, { onProgress: () => {} });
  const line = (hour: number, text: string) => `2026-01-31T0${hour}:00:00.000Z ${text}\n`;
  const filler = line(4, 'filler').repeat(20_000);
  await writeFile(`${file}.1`, line(1, 'Ünlucky NEEDLE') + line(2, 'no'));
  await writeFile(file, `${line(3, 'needle 2')}${filler}${line(5, 'last needle')}`);
  const find = async (query: Record<string, string>, format = 'ndjson') => {
    const { text } = await api.get(`${path}?${new URLSearchParams({ format, ...query }).toString()}`);
    return format === 'text' ? text : recordsIn(text).map((record) => record.text);
  };

  const [plain, records] = [await find({ search: 'ÜNLUCKY' }, 'text'), await find({ search: 'Needle' })];
  const during = { since: '2026-01-31T02:30:00Z', until: '2026-01-31T05:00:00Z' };
  const refused = await api.get(`${path}?follow=true&search=x`);

  expect(plain).toBe('Ünlucky NEEDLE\n');
  expect(records).toEqual(['Ünlucky NEEDLE', 'needle 2', 'last needle']);
  expect(await find({ search: 'needle', ...during })).toEqual(['needle 2']);
  expect(await find({ search: 'needle', limit: '1', until: during.since })).toEqual(['Ünlucky NEEDLE']);
  expect(await find({ search: '2026-01' })).toEqual([]);
  expect([refused.status, refused.text.trim()]).toEqual([
    400,
    'follow cannot be combined with until or search',
  ]);
});

test.each(['logs?follow=true', 'logs?follow=true&format=ndjson', 'network/events', 'traffic/events'])(
  'a request for only the headers of a stream leaves no watcher behind: %s',
  async (stream) => {
    await using api = await openTestApi();
    await api.run('echo');
    const place = `/api/v1beta/workloads/echo/${stream}`;

    const statuses = new Set<number>();
    for (let i = 0; i < 300; i += 1) statuses.add((await api.send('HEAD', place, {})).status);

    expect([...statuses]).toEqual([200]);
  },
);
