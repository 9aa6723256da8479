// @suite e2e (in depth)
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheDirectory } from '@toolhive/runtime/testing/uv';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { cachedPackages, pathWithUv } from './testing/package-cache.ts';
import { makeUser, publicRegistries } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

async function toolsOf(user: User, ...words: string[]): Promise<string[]> {
  const stdout = await user.mustThv('run', '--proxy-mode', 'streamable-http', ...words);
  await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');
  return await client.tools(); // before the client is closed
}

// `real.test.ts` of the runtime installs a package with npm, which takes six seconds of a processor.
test('runs a server straight from its npm package', async () => {
  proves('run.package.npx');
  await using user = await makeUser({ env: await cachedPackages() });

  expect(await toolsOf(user, 'npx://@modelcontextprotocol/server-everything')).toContain('echo');
});

test('runs a server straight from its Python package', async () => {
  proves('run.package.uvx');
  await using user = await makeUser({ env: { ...publicRegistries(), PATH: await pathWithUv() } });

  expect(await toolsOf(user, 'uvx://mcp-server-time', '--', '--local-timezone', 'UTC')).toContain(
    'get_current_time',
  );
});

test('runs a server straight from a Go module in a folder, again after a change, and shows the mistakes of its code', async () => {
  proves('run.package.go');
  await using user = await makeUser({ env: publicRegistries() });
  const folder = join(user.home, 'server');
  await keepGoDownloads(user, folder);
  const source = `go://${folder}`;
  await mkdir(folder);
  await writeFile(join(folder, 'go.mod'), 'module example.test/server\n\ngo 1.21\n');
  await writeFile(join(folder, 'main.go'), goServer('greet'));
  const first = await toolsOf(user, source, '--name', 'first');

  await writeFile(join(folder, 'main.go'), goServer('part'));
  const second = await toolsOf(user, source, '--name', 'second');
  await writeFile(join(folder, 'main.go'), 'package main\n\nfunc main() { nonsense() }\n');
  const broken = await user.thv('run', source, '--name', 'broken');

  expect([first, second]).toEqual([['greet'], ['part']]);
  expect(broken.code).not.toBe(0);
  expect(broken.stderr).toContain('undefined: nonsense');
});

/**
 * Lets the builds in a folder use what earlier runs have compiled. Compiling the standard library of Go takes 15 seconds of a
 * processor.
 */
async function keepGoDownloads({ home }: User, folder: string): Promise<void> {
  const downloads = join(home, '.cache/toolhive/packages/.downloads/go');
  const kept = join(cacheDirectory, 'go-downloads');
  for (const path of [downloads, kept]) await mkdir(path, { recursive: true, mode: 0o700 });
  await symlink(kept, join(downloads, encodeURIComponent(folder)));
}

/** A whole MCP server in standard Go with one tool. */
function goServer(tool: string): string {
  return `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type message struct {
	ID     json.RawMessage \`json:"id"\`
	Method string          \`json:"method"\`
}

var results = map[string]string{
	"initialize": \`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"go","version":"1"}}\`,
	"tools/list": \`{"tools":[{"name":"${tool}","inputSchema":{"type":"object"}}]}\`,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if result, ok := results[m.Method]; ok {
			fmt.Printf("{\\"jsonrpc\\":\\"2.0\\",\\"id\\":%s,\\"result\\":%s}\\n", m.ID, result)
		}
	}
}
`;
}
