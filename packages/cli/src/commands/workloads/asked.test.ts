import { createClient } from '@toolhive/contract/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { askedFor } from './asked.ts';

/** A link is read without the daemon. */
const daemon = createClient(() => Promise.reject(new Error('there is no daemon')));
const signal = new AbortController().signal;
const linkTo = (entry: object): string =>
  `https://cursor.com/install-mcp?name=one&config=${Buffer.from(JSON.stringify(entry)).toString('base64')}`;

test('a link shows the command in it', async () => {
  const link = linkTo({ command: 'npx', args: ['-y', 'server'] });

  const { notes } = await askedFor({ arguments: [link], rest: [], signal }, daemon);

  expect(notes[0]).toContain('thv run --name one npx://server');
});

test.each([
  ['a variable', { command: 'npx', args: ['server'], env: { KEY: `$\{env:PRIVATE_WORD}` } }, 'asks for'],
  ['a variable in an argument', { command: 'npx', args: ['server', `$\{PRIVATE_WORD}`] }, 'asks for'],
  ['a variable for docker', { command: 'docker', args: ['run', '-e', 'PRIVATE_WORD', 'a/b'] }, ''],
  ['a file', { command: 'npx', args: ['server'], envFile: '/etc/hostname' }, 'file of this machine'],
  [
    'a file for docker',
    { command: 'docker', args: ['run', '--env-file', '/etc/hostname', 'a/b'] },
    'file of this machine',
  ],
  ['a mount', { command: 'docker', args: ['run', '-v', '/:/host', 'a/b'] }, 'access to this machine'],
])('a link does not get %s of the user', async (_, entry, message) => {
  vi.stubEnv('PRIVATE_WORD', 'not-a-real-word');
  onTestFinished(() => void vi.unstubAllEnvs());

  const outcome = await askedFor({ arguments: [linkTo(entry)], rest: [], signal }, daemon).catch(
    (error: Error) => error.message,
  );

  expect(JSON.stringify(outcome)).not.toContain('not-a-real-word');
  expect(JSON.stringify(outcome)).toContain(message);
});
