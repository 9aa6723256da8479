import { expect, test } from 'vitest';
import type { EgressDecision } from '../egress.ts';
import { Rules } from '../outbound-rules.ts';
import { GatewayReports } from './gateway-reports.ts';

function openReports() {
  const reported: string[][] = [];
  const reports = new GatewayReports(1, new Rules({ hosts: [], ports: [] }), ({ decisions }) =>
    reported.push(decisions.map(({ decision: { host, port } }) => `${host}:${port}`)),
  );
  return { reports, reported, [Symbol.dispose]: () => reports.flush() };
}

const allowed = (host: string, port = 443): EgressDecision => ({ host, port, verdict: 'allowed' });

test('the first use of a place is reported before the server can have an answer, and its further uses together', () => {
  using opened = openReports();
  const { reports, reported } = opened;

  for (const port of [443, 443, 8443, 443]) reports.record(allowed('a.example', port));
  reports.record(allowed('b.example'));
  const atOnce = reported.slice();
  reports.record(allowed('b.example'));

  expect(atOnce).toEqual([
    ['a.example:443'],
    ['a.example:443', 'a.example:8443'],
    ['a.example:443', 'b.example:443'],
  ]);
  expect(reported).toEqual(atOnce);
});

test('a server with thousands of places is reported in groups', () => {
  using opened = openReports();
  const { reports, reported } = opened;

  for (let at = 0; at < 3_000; at++) reports.record(allowed(`${at}.example`));
  reports.flush();

  expect(reported.flat()).toHaveLength(3_000);
  expect(reported.length).toBeLessThan(1_010);
});
