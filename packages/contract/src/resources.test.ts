import { describe, expect, test } from 'vitest';
import { describeResource, readResource, resourcesOf } from './resources.ts';
import { RunConfig } from './schemas/run-config.ts';
import { CreateWorkload } from './schemas/workload.ts';

const MIB = 1024 ** 2;

describe('a size', () => {
  test.each([
    ['512m', 512 * MIB],
    ['512MiB', 512 * MIB],
    ['512 MB', 512 * MIB],
    ['2g', 2048 * MIB],
    ['1.5GiB', 1536 * MIB],
    ['20000k', 20_000 * 1024],
    ['33554432', 32 * MIB],
    [33_554_432, 32 * MIB],
  ])('is read from %s', (written, bytes) => {
    expect(readResource('memory', written)).toBe(bytes);
  });

  test.each(['', 'm', '-1g', '1e9', '0x10000000', '1,5g', '1g 2g', 'unlimited', '１g', Number.NaN, 2 ** 60])(
    'is never read from %s',
    (written) => {
      expect(() => readResource('memory', written)).toThrow('is not a size');
    },
  );

  test('is described with the unit that people use', () => {
    const sizes = [16 * MIB, 1536 * MIB, 2048 * MIB].map((size) => describeResource('memory', size));

    expect(sizes).toEqual(['16 MiB', '1.5 GiB', '2 GiB']);
  });
});

test.each([
  ['memory', '4m', '"4m" is too small', 'use a size such as 512m or 1.5GiB from 16 MiB to 1 TiB'],
  ['memory', 0, '0 is too small', 'use a size such as 512m or 1.5GiB from 16 MiB to 1 TiB'],
  ['cpus', '1000', '"1000" is too large', 'use a number of cores from 0.1 to 512'],
  ['cpus', Infinity, 'null is not a number of cores', 'use a number of cores from 0.1 to 512'],
  ['pids', '1.5', '"1.5" is not a whole number', 'use a whole number from 8 to 32768'],
  ['pids', -1, '-1 is too small', 'use a whole number from 8 to 32768'],
  [
    'disk',
    '1p',
    '"1p" is not a size such as 512m or 1.5GiB',
    'use a size such as 512m or 1.5GiB from 1 MiB to 16 TiB',
  ],
  ['open_files', '63', '"63" is too small', 'use a whole number from 64 to 1048576'],
] as const)('a limit on %s is refused at %s, with what is allowed', (name, value, message, hint) => {
  expect(() => readResource(name, value)).toThrow(
    expect.objectContaining({ kind: 'invalid', message, hint }),
  );
});

test('every limit that is not requested is the default', () => {
  expect(resourcesOf({ memory: '512m' })).toEqual({ ...resourcesOf(undefined), memory: 512 * MIB });
});

describe('a run config', () => {
  const runConfig = {
    schema_version: 'v0.1.0',
    name: 'a',
    base_name: 'a',
    container_name: 'a',
    transport: 'stdio',
    port: 8000,
  };

  test.each([
    ['memory', 'unlimited'],
    ['memory', 0],
    ['memory', -1],
    ['memory', null],
    ['memory', '1000t'],
    ['cpus', 1e300],
    ['pids', 0],
    ['disk', false],
    ['open_files', [1]],
  ])('with the limit %s at %j is not accepted', (name, value) => {
    const parsed = RunConfig.safeParse({ ...runConfig, resources: { [name]: value } });

    expect(parsed.success).toBe(false);
  });

  test('keeps limits of later versions, and all that it knows', () => {
    const parsed = RunConfig.parse({ ...runConfig, resources: { bandwidth: '1m', memory: '1g' } });

    expect(parsed.resources).toEqual({ bandwidth: '1m', memory: '1g' });
    expect(resourcesOf(parsed.resources)).toEqual({ ...resourcesOf(undefined), memory: 1024 * MIB });
  });
});

test('a request with a misspelled limit is refused', () => {
  const parsed = CreateWorkload.safeParse({ image: 'fetch', resources: { memroy: '512m' } });

  expect(parsed.error?.issues).toMatchObject([{ code: 'unrecognized_keys', keys: ['memroy'] }]);
});
