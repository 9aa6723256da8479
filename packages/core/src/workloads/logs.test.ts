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
