import { expect, test } from 'vitest';
import { outsidePaths } from './outside-paths.ts';

test.each([
  ['longer than any path', `/${'a'.repeat(5_000)}/x.db`],
  ['the beginning of a picture in base64', `/9j/${'4AAQSkZJRg'.repeat(60)}`],
  ['a NUL character', '/tmp/\0x/y.db'],
  ['a path through a file', '/etc/passwd/x.db'],
])('%s is not an outside path', (_what, text) => {
  const request = { image: 'npx://server', cmd_arguments: [text], env_vars: { DATA: text } };

  expect(outsidePaths(request, { home: '/home/me', directory: undefined }).size).toBe(0);
});
