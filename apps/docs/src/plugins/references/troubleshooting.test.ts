import { expect, test } from 'vitest';
import { troubleshootingReference } from './troubleshooting.ts';

const guide = `---
title: 'Use the ''thing'''
---

## Troubleshooting

Run something first.

<details>
<summary>The thing fails</summary>

{/* run: mkdir hidden */}

\`\`\`text
Error: it fails
\`\`\`

See [another guide](./other.mdx#part), [a tutorial](../tutorials/first.mdx), and [a part](#part).

</details>

<details>
<summary>… is missing</summary>

Add it.

</details>

## Next steps

- [Nothing of this](./other.mdx).
`;

test('lists each symptom with its cause and fix, and links that lead to the same pages', () => {
  expect(troubleshootingReference([{ path: 'guides-cli/thing.mdx', text: guide }])).toMatchInlineSnapshot(`
    "## CLI: Use the 'thing' {#guides-cli-thing}

    [Open the guide](./guides-cli/thing.mdx#troubleshooting)

    ### The thing fails {#guides-cli-thing-1}

    \`\`\`text
    Error: it fails
    \`\`\`

    See [another guide](./guides-cli/other.mdx#part), [a tutorial](./tutorials/first.mdx), and [a part](./guides-cli/thing.mdx#part).

    ### … is missing {#guides-cli-thing-2}

    Add it."
  `);
});

test('takes headings where a guide has no disclosures, and leaves out pages without symptoms', () => {
  const pages = [
    {
      path: 'guides-k8s/pods.mdx',
      text: `title: 'Pods'\n\n## Troubleshooting\n\n### A pod fails\n\nWait.\n`,
    },
    { path: 'guides-k8s/other.mdx', text: `title: 'Other'\n\n## Troubleshooting\n\nSee the log.\n` },
    { path: 'guides-cli/none.mdx', text: `title: 'None'\n\n## Use\n\n### A heading\n\nText.\n` },
  ];

  expect(troubleshootingReference(pages).match(/^#.*$/gm)).toEqual([
    '## Kubernetes: Pods {#guides-k8s-pods}',
    '### A pod fails {#guides-k8s-pods-1}',
  ]);
});
