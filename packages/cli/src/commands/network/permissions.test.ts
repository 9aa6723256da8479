import { expect, test } from 'vitest';
import { showPermissions } from './permissions.ts';

test('a mounted directory stays on its line, whatever its name contains', () => {
  const lines: string[] = [];
  const page = {
    line: (text: string) => lines.push(text),
    verbatim: (text: string) => lines.push(text),
    table: () => {},
    clear: () => {},
    paint: (_colour: string, text: string) => text,
  };

  showPermissions(page, {
    network: { kind: 'none', enforced: true },
    mounts: [{ source: '/a\nNetwork: none', target: '/b\u202ec\td', read_only: true }],
    privileged: false,
    warnings: [],
  });

  expect(lines).toEqual(['Network: none', 'Reads /a\ufffdNetwork: none as /b\ufffdc\ufffdd']);
});
