import { expect, test } from 'vitest';
import { exceptions, findLayerBreaches, folderBreaches, outsideBreaches } from './layers.ts';

test('no file imports from a higher layer', async () => {
  expect(await findLayerBreaches()).toEqual([]);
});

test.each([
  ['a value from a higher folder', "import { Bridge } from '../bridge/bridge.ts';", 1],
  ['a type from a higher folder', "import type { Session } from '../bridge/session.ts';", 1],
  ['several lines from a higher folder', "import {\n  one,\n  two,\n} from '../endpoint/sse.ts';", 1],
  ['a higher file beside the folders', "export { open } from '../proxy.ts';", 1],
  ['a lower folder', "import { readMessage } from '../jsonrpc/message.ts';", 0],
  ['its own folder', "import type { Transport } from './transport.ts';", 0],
])('finds %s', (_kind, statement, count) => {
  const source = `// The first line.\n${statement}\n`;

  expect(folderBreaches('packages/proxy', 'packages/proxy/src/transport/lines.ts', source)).toHaveLength(
    count,
  );
});

test.each([
  ['the end-to-end tests', 'packages/core/src/core.test.ts', '../../../e2e/testing/thv.ts', 1],
  ['another app', 'packages/core/src/core.ts', '../../../apps/cli/src/main.ts', 1],
  ['another package by path', 'packages/core/src/core.ts', '../../proxy/src/proxy.ts', 1],
  ['its own package', 'packages/core/src/groups/groups.ts', '../core.ts', 0],
])('finds an import from %s', (_where, file, name, count) => {
  expect(outsideBreaches('packages/core', file, `import { it } from '${name}';\n`)).toHaveLength(count);
});

test('at most eight files or folders may import more than their package', () => {
  expect(Object.keys(exceptions).length).toBeLessThanOrEqual(8);
});
