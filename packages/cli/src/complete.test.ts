import { describe, expect, test } from 'vitest';
import type { Completion } from './command.ts';
import { program } from './commands/commands.ts';
import { complete } from './complete.ts';

/** What is offered after these words, of which the last is being typed: the words, or the kind of thing. */
async function offered(...words: string[]): Promise<string[] | string> {
  const known: Partial<Record<Completion, string[]>> = {
    workload: ['fetch', 'files'],
    group: ['default', 'team'],
    'registry-server': ['fetch', 'github'],
  };
  const offer = await complete(program, words, async (what) => (known[what] ?? []).map((word) => ({ word })));
  return offer.kind === 'words' ? offer.words.map(({ word }) => word) : offer.kind;
}

describe('completion', () => {
  test.each([
    ['commands', ['res'], ['restart']],
    ['commands of a group', ['runtime', ''], ['check']],
    ['commands below a command, once each', ['mcp', 'list', 'to'], ['tools']],
    ['names of workloads', ['stop', 'fi'], ['files']],
    ['the other names where there may be several', ['rm', 'files', ''], ['fetch']],
    ['what can be looked for in the registry', ['run', 'g'], ['github']],
    ['flags', ['run', '--transp'], ['--transport']],
    ['a flag only once', ['list', '--all', '--al'], []],
    [
      'a flag that can be repeated again',
      ['run', '--env', 'A=1', '--env'],
      ['--env', '--env-file', '--env-file-dir'],
    ],
    ['the choices of a flag', ['list', '--format', ''], ['text', 'json', 'mcpservers']],
    ['the choices of a flag in the same word', ['list', '--format=j'], ['--format=json']],
    ['names as the value of a flag', ['list', '--group', 't'], ['team']],
    ['a workload after a flag that takes a value', ['logs', '--tail', '5', 'fe'], ['fetch']],
    ['nothing after a word that is no command', ['nonsense', ''], []],
    ['nothing that is hidden', ['__'], []],
    ['what every command takes', ['list', '--deb'], ['--debug']],
  ])('offers %s', async (_title, words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  test.each([
    ['for a flag that takes one', ['run', '--env-file', '']],
    ['behind --, where the arguments of the server stand', ['run', 'fetch', '--', '--no']],
  ])('leaves files to the shell %s', async (_title, words) => {
    expect(await offered(...words)).toBe('file');
  });
});
