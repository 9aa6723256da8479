import { invalid, timedOut } from '@toolhive/contract/failure';
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
  [
    'Error: Could not locate the bindings file. Tried:',
    '; last output: Error: Could not locate the bindings file. Tried; to fix it, ',
  ],
  [
    "No module named 'mcp.server.x'. Pin 'mcp<2'.",
    "; last output: No module named 'mcp.server.x'. Pin 'mcp<2'; to fix it, ",
  ],
  ['all is lost.', '; last output: all is lost.'],
])('the end of a line fits into the sentence: %s', async (line, said) => {
  expect(await describeFailure(failed('it exited', true), logOf(line), 'server', {})).toContain(said);
});

test('a refused start gets no fix for the output of an earlier one', async () => {
  const reason = 'mount source /srv/out has changed since you granted access';
  const event = failed(reason);
  const refused = { ...event, failure: { ...event.failure, error: invalid(reason) } };

  expect(await describeFailure(refused, logOf('allowed directories: [ /out ]'), 'server', {})).toBe(reason);
});

test('a server that does not answer is shown with its last output', async () => {
  const reason = 'the server did not answer initialize within 60 seconds';
  const event = failed(reason);
  const late = { ...event, failure: { ...event.failure, error: timedOut(reason) } };

  expect(await describeFailure(late, logOf('loading the model (4 GB)\n'), 'server', {})).toBe(
    `${reason}; last output: loading the model (4 GB)`,
  );
  expect(await describeFailure(late, logOf('Password: '), 'server', {})).toBe(
    `${reason}; last output: Password; to fix it, pass the answer in an argument or an environment variable of the server, because servers have no terminal`,
  );
});

test('a server that writes messages over several lines is told from one that is silent', async () => {
  const output = '[stdout] {\n[stdout]   "jsonrpc": "2.0",\n[stdout]   "id": 1\n[stdout] }';

  const said = await describeFailure(failed('it did not answer'), logOf(output), 'server', {});

  expect(said).toBe(
    'it did not answer; last output: [stdout]   "jsonrpc": "2.0"; to fix it, ask its author to write each message on one line, as MCP requires',
  );
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

test.each([
  [
    ['auth'],
    'the server exited with code 0',
    '; to fix it, if its arguments are those of a command that runs once, run the server without them, and then thv exec mail -- auth',
  ],
  [['auth'], 'the server exited with code 1', ''],
  [['auth', '$(x)'], 'the server exited with code 0', ''],
  [[], 'the server exited with code 0', ''],
])('arguments %j of a server that %s', async (args, reason, fix) => {
  const server = knownServer(aRunConfig({ name: 'mail', cmd_args: args }));

  expect(await describeFailure(failed(reason, true), logOf(''), 'mail', server)).toBe(reason + fix);
});
