import { expect, test } from 'vitest';
import type { LockedPackage } from '../../contents/python.ts';
import type { PackageSource } from '../../source.ts';
import { sdkOfItsTime } from './sdk-of-its-time.ts';

const source: PackageSource = { kind: 'package', scheme: 'uvx', name: 'My_Server' };

const locked = (name: string, version: string, publishedAt = '2026-01-01T00:00:00Z') => ({
  name,
  version,
  wheels: [{ file: `${name}.whl`, sha256: '0', publishedAt }],
});

test('a package from before version 2 of the SDK gets version 1', () => {
  const options = { with: ['pandas'], python: '3.12' };

  expect(sdkOfItsTime({ ...source, options }, [locked('my-server', '1'), locked('mcp', '2.3.0')])).toEqual({
    source: { ...source, options: { with: ['pandas', 'mcp<2'], python: '3.12' } },
    isMissing: true,
  });
});

test('nothing is resolved again if it has version 1 already', () => {
  const found = sdkOfItsTime(source, [locked('my-server', '1'), locked('mcp', '1.27.0')]);

  expect(found).toMatchObject({ isMissing: false });
});

test.each<[title: string, given: PackageSource, lock: LockedPackage[]]>([
  [
    'a package from after version 2',
    source,
    [locked('my-server', '1', '2026-08-01T00:00:00Z'), locked('mcp', '2.3.0')],
  ],
  [
    'a package whose index tells no times',
    source,
    [
      { ...locked('my-server', '1'), wheels: [{ file: 'x.whl', sha256: '0', publishedAt: undefined }] },
      locked('mcp', '2.3.0'),
    ],
  ],
  ['a package without the SDK', source, [locked('my-server', '1')]],
  ['the SDK itself', { ...source, name: 'mcp' }, [locked('mcp', '1.0.0')]],
  [
    'a chosen SDK',
    { ...source, options: { with: ['mcp>=2'] } },
    [locked('my-server', '1'), locked('mcp', '2.3.0')],
  ],
  [
    'a chosen day',
    { ...source, options: { excludeNewer: '2026-01-01' } },
    [locked('my-server', '1'), locked('mcp', '2.3.0')],
  ],
])('%s stays as it is', (_title, given, lock) => {
  expect(sdkOfItsTime(given, lock)).toBeUndefined();
});
