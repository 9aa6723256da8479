import { metaServerName } from '@toolhive/contract/names';
import { expect, test } from 'vitest';
import { mcpCaller } from './testing/mcp-caller.ts';
import { openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

async function runMeta(api: TestApi, variables: Record<string, string> = {}): Promise<string> {
  await api.client.createWorkload(
    { body: { image: metaServerName, env_vars: variables } },
    { onProgress: () => {} },
  );
  return `http://127.0.0.1:${api.core.workloads.require(metaServerName).runConfig.port}/mcp`;
}

test.each(['2025-11-25', '2026-07-28'] as const)(
  'finds and calls a tool of another workload: %s',
  async (version) => {
    await using api = await openTestApi();
    await api.run('echo');
    const client = mcpCaller(await runMeta(api), { version });
    if (version === '2025-11-25') await client.ask('initialize');

    const found = await client.ask('tools/call', {
      name: 'find_tool',
      arguments: { query: 'echo a message' },
    });
    const called = await client.ask('tools/call', {
      name: 'call_tool',
      arguments: { server_name: 'echo', tool_name: 'echo', parameters: { message: 'hello' } },
    });

    const { tools } = found.result['structuredContent'] as { tools: object[] };
    expect(tools[0]).toMatchObject({ server_name: 'echo', tool_name: 'echo', group: 'default' });
    expect(called.text).toContain('hello');
  },
);
