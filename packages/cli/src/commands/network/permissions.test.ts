import { expect, test } from 'vitest';
import { describeNetwork, showPermissions } from './permissions.ts';

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

test('local ports are shown with the other places, or alone', () => {
  const local = { kind: 'rules' as const, local_ports: [5432, 6379], enforced: true };

  expect(describeNetwork({ ...local, hosts: [], ports: [] })).toBe(
    'localhost of this machine on port 5432, 6379',
  );
  expect(describeNetwork({ ...local, hosts: ['a.example'], ports: [443] })).toBe(
    'a.example on port 443, and localhost of this machine on port 5432, 6379',
  );
});
