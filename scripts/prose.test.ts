import { expect, test } from 'vitest';
import { findProse, judge, readCode, readPage } from './prose.ts';

test('pages and product text keep the wording limits', async () => {
  expect(await findProse()).toEqual([]);
});

const page = `---
title: 'Somebody in a title'
slug: whoever
---

import Tabs from 'whoever';

## See that it works

Run \`whoever\` to see what happens; it stands in the log of the server.

\`\`\`bash
whoever
\`\`\`

{/* whoever */}
`;

test.each([
  ['somebody, nobody, everybody, whoever, whom', 'page.mdx:2: …Somebody in a title…'],
  ['it', 'page.mdx:8: …'],
  ['clause that starts with "what"', 'page.mdx:10: …'],
  ['noun of noun', 'page.mdx:10: …'],
  ['stands in, is there, is no, of yours', 'page.mdx:10: …'],
  ['semicolon', 'page.mdx:10: …'],
  ['pronoun in a heading', 'page.mdx: See that it works'],
] as const)('reports %s with the place', (name, place) => {
  const found = judge('pages', [readPage('page.mdx', page)], { [name]: 0 });

  expect(found[0]).toContain(`"${name}"`);
  expect(found[1]).toContain(place);
  expect(found.join('\n')).not.toContain('whoever\n');
});

test('reads the comments and sentences of code, and nothing else', () => {
  const source = `
const whoever = 'whoever'; // Stops whoever started it first.
fail(\`nobody may open the file \${whoever} now\`);
`;

  const found = judge('code', [readCode('stop.ts', source)], {
    'somebody, nobody, everybody, whoever, whom': 0,
  });

  expect(found.slice(1).map((line) => line.split(': ')[0]?.trim())).toEqual(['stop.ts:2', 'stop.ts:3']);
});
