import { expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { describeFailure, knownServer } from './run-workload.ts';

const failed = (reason: string, hasEnded = false) => ({
  kind: 'failed' as const,
  failure: { reason, hasEnded, error: new Error(reason) },
  retryInMs: undefined,
});
const logOf = (output: string) => ({ read: () => Promise.resolve(output) });

test.each([
  [
    'the server refused initialize: the variable SERVICE_TOKEN is required',
    '; to fix it, store it with thv secret set SERVICE_TOKEN and run',
  ],
  [
    'the server refused tools/list: could not reach https://api.service.com/v1: fetch failed',
    '; to fix it, check that its network rules allow api.service.com,',
  ],
])('an answer with the reason has a fix, too: %s', async (reason, fix) => {
  const said = await describeFailure(failed(reason), logOf('starting'), 'server', {});

  expect(said).toContain(reason + fix);
});

test('the reason of an installation is no fix for the server', async () => {
  const reason = 'cannot reach the package registry: getaddrinfo ENOTFOUND registry.npmjs.org';

  expect(await describeFailure(failed(reason), logOf(''), 'server', {})).toBe(reason);
});

test.each([
  [aRunConfig({ image: 'uvx://server', permission_profile: { name: 'none' } }), true, false],
  [
    aRunConfig({
      image: 'npx://server',
      permission_profile: { network: { outbound: { allow_host: ['a.example'] } } },
    }),
    false,
    true,
  ],
])('a server is known by its package and its network', (runConfig, isPython, hasNetwork) => {
  expect(knownServer(runConfig)).toMatchObject({ isPython, hasNetwork });
});
