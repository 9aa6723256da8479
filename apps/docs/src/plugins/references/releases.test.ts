import { expect, test } from 'vitest';
import { readChangelog, releaseReference } from './releases.ts';

const changelog = `# toolhive

## 1.1.0

### Minor Changes

- 0a1b2c3: Run servers on another system.
- List servers
  by group.

## 1.0.0

_Published on 2026-12-01._

### Patch Changes

- 0a1b2c3d: Fix the port.
`;

test('the changelog of changesets is read as versions, with the date that maintainers add', () => {
  expect(readChangelog(changelog)).toEqual([
    {
      version: '1.1.0',
      date: undefined,
      changes: ['Run servers on another system.', 'List servers by group.'],
    },
    { version: '1.0.0', date: '2026-12-01', changes: ['Fix the port.'] },
  ]);
});

test('the release notes contain every change of the changelog in this repository', () => {
  const notes = releaseReference();

  expect(notes).toContain('## Version 0.1.0');
  expect(notes).toContain('- Run MCP servers from the registry');
});
