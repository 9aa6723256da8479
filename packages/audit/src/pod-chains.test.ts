import { expect, test } from 'vitest';
import { PodChains } from './pod-chains.ts';
import type { PodChain } from './pod-chains.ts';
import { StdoutAudit } from './stdout-audit.ts';

/** Writes records in turn from several pods, with lines of other kinds between them. */
function logOf(pods: readonly string[], rounds = 3): string[] {
  const lines: string[] = [];
  const audits = pods.map((pod) => new StdoutAudit((line) => lines.push(line.trimEnd()), pod));
  for (let round = 0; round < rounds; round += 1)
    for (const audit of audits) {
      audit.record({
        type: 'mcp_tool_call',
        outcome: 'success',
        component: 'weather',
        source: { type: 'network', value: '10.0.0.1' },
        subjects: { user: 'alice \u202e\u0007 "quoted"' },
      } as unknown as Parameters<StdoutAudit['record']>[0]);
      lines.push(JSON.stringify({ level: 'info', msg: 'server answered' }), 'plain text');
    }
  return lines;
}

function verified(lines: readonly string[]): PodChain[] {
  const chains = new PodChains();
  for (const line of lines) chains.add(line);
  return chains.chains();
}

test('the records of several pods form one chain for each pod', () => {
  const chains = verified(logOf(['weather-a', 'weather-b']));

  expect(chains).toEqual(
    ['weather-a', 'weather-b'].map((pod) => ({
      pod,
      chain: expect.any(String) as string,
      first: 1,
      records: 3,
    })),
  );
  expect(new Set(chains.map(({ chain }) => chain)).size).toBe(2);
});

test('a pod that was restarted begins another chain', () => {
  const chains = verified([...logOf(['weather-a']), ...logOf(['weather-a'])]);

  expect(chains.map(({ pod, records, broken }) => [pod, records, broken])).toEqual(
    [1, 2].map(() => ['weather-a', 3, undefined]),
  );
});

test('a log that begins later is verified from its first record', () => {
  const lines = logOf(['weather-a'], 5).filter((line) => line.includes('audit_event'));

  expect(verified(lines.slice(2))).toMatchObject([{ first: 3, records: 3 }]);
  expect(verified(lines.slice(2))[0]?.broken).toBeUndefined();
});

const isRecord = (line: string): boolean => line.includes('audit_event');
const records = (change: (lines: string[]) => string[]): PodChain | undefined =>
  verified(change(logOf(['weather-a'], 4).filter(isRecord)))[0];

test.each([
  ['changed', (lines: string[]) => lines.with(1, String(lines[1]).replace('alice', 'mallory')), 3],
  [
    'changed at its beginning',
    (lines: string[]) => lines.with(0, String(lines[0]).replace('alice', 'mallory')),
    2,
  ],
  ['removed', (lines: string[]) => lines.toSpliced(1, 1), 3],
  ['moved', (lines: string[]) => [lines[0], lines[2], lines[1], lines[3]].map(String), 3],
  ['repeated', (lines: string[]) => [lines[0], lines[1], lines[1], lines[2]].map(String), 2],
  [
    'given a new number',
    (lines: string[]) => lines.toSpliced(1, 1).map((line) => line.replace('"number":3', '"number":2')),
    2,
  ],
] as const)('a record that was %s breaks its chain', (_, change, number) => {
  expect(records(change)?.broken?.number).toBe(number);
});

test('a first record that names a predecessor breaks its chain', () => {
  const broken = records((lines) =>
    lines.map((line) => line.replace(/"previous":"0+"/, `"previous":"${'1'.repeat(64)}"`)),
  );

  expect(broken?.broken?.number).toBe(1);
});
