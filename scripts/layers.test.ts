import { expect, test } from 'vitest';
import { findLayerBreaches, folderBreaches } from './layers.ts';

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
