import { delimiter } from 'node:path';
import { expect, test } from 'vitest';
import { removeProjectPrograms } from './project-programs.ts';

const joined = (...folders: string[]): string => folders.join(delimiter);

test('a daemon that npx has started finds no programs of the current project', () => {
  const env = {
    HOME: '/home/ada',
    PATH: joined(
      '/home/ada/project/node_modules/.bin',
      '/home/ada/.npm/_npx/1/node_modules/.bin/',
      '/home/ada/node_modules/.binary',
      '/usr/bin',
    ),
  };
  removeProjectPrograms(env);

  expect(env).toEqual({ HOME: '/home/ada', PATH: joined('/home/ada/node_modules/.binary', '/usr/bin') });
});

test('an environment without PATH stays', () => {
  const env = {};
  removeProjectPrograms(env);

  expect(env).toEqual({});
});
