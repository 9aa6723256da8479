import { expect, test } from 'vitest';
import { spawnSealed } from './spawn.ts';

test.skipIf(process.platform === 'win32')(
  'arguments that are too long together are a mistake of the caller',
  () => {
    const args = Array.from({ length: 100 }, () => 'x'.repeat(100_000));

    expect(() => spawnSealed('/bin/true', args, [])).toThrow(
      'the arguments and variables of the program are too long for this system',
    );
  },
);
