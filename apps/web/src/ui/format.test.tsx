import { expect, test } from 'vitest';
import { commandIn, inScreenWords, remaining, withoutCommands } from './format.ts';

test.each([
  [-5_000, 'less than a minute'],
  [20_000, 'less than a minute'],
  [60_000, '1 minute'],
  [14.6 * 60_000, '15 minutes'],
  [3_600_000, '1 hour'],
  [5_460_000, '1 hour 31 minutes'],
  [8 * 3_600_000, '8 hours'],
])('a time in %d ms is %s away', (ms, words) => {
  expect(remaining(new Date(1_000_000 + ms).toISOString(), 1_000_000)).toBe(words);
});

test.each([
  ['workload fetch not found', 'server fetch not found'],
  ['Workload fetch already exists.', 'Server fetch already exists.'],
  ['no workloads are selected', 'no servers are selected'],
  ['workload workload not found', 'server workload not found'],
  ['workload my-workload is stopped', 'server my-workload is stopped'],
  [
    '/srv/workload/a is inside /srv, which the workload a can write to',
    '/srv/workload/a is inside /srv, which the server a can write to',
  ],
  ['the server said "workload not found"', 'the server said "workload not found"'],
  ['`workload` is not a field', '`workload` is not a field'],
  ['the name of the workload, and (workloads)', 'the name of the server, and (servers)'],
  ['env="workload" of the workload.', 'env="workload" of the server.'],
  ['unlike workloaders, workloads run', 'unlike workloaders, servers run'],
])('the message “%s” reads on screens “%s”', (message, read) => {
  expect(inScreenWords(message)).toBe(read);
});

test('a sentence about a workload stays without its command', () => {
  expect(withoutCommands('The workload was stopped. Run thv start fetch to start the workload.')).toBe(
    'The server was stopped.',
  );
});

test('a long text without spaces is read in one pass', () => {
  const text = 'a'.repeat(2_000_000);

  expect(inScreenWords(`workload x: ${text} "${text}`)).toBe(`server x: ${text} "${text}`);
});

test.each([
  ['start it again with thv serve or thv ui', 'thv serve'],
  ['run thv list --all to see all workloads', 'thv list --all'],
  ['thv doctor weather', 'thv doctor weather'],
  ['thv run npx://a@1.0.0, or thv run uvx://b', 'thv run npx://a@1.0.0'],
  ['set a password with `thv secret setup`. Then try again', 'thv secret setup'],
])('the command in a hint can be pasted into a terminal: %s', (hint, command) => {
  expect(commandIn(hint)).toBe(command);
});
