import { homeOf, statePaths } from '@toolhive/state/paths';
import { expect, test } from 'vitest';
import { removeRelativeHome } from './home.ts';

test.each(['', 'relative/home', '.'])('a home of %j gives way to the one of the user database', (home) => {
  const env = { HOME: home };
  removeRelativeHome(env);

  expect(env).toEqual({});
  expect(statePaths({ ...env, XDG_CONFIG_HOME: 'relative' }).state).toMatch(/^(?:\/|[A-Z]:)/);
});

test('an absolute home stays', () => {
  const env = { HOME: process.cwd() };
  removeRelativeHome(env);

  expect(env).toEqual({ HOME: process.cwd() });
});

test('a user without a home is told to set one', () => {
  const unknown = (): string => {
    throw new Error('A system error occurred: uv_os_homedir returned ENOENT');
  };

  expect(() => homeOf({}, unknown)).toThrow(
    expect.objectContaining({
      message: 'the home directory of this user is not known',
      hint: 'set HOME to a directory that this user can write to',
    }),
  );
});
