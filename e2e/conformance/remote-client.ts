// The program that the official suite starts as the client of each scenario: it runs the suite's server as a remote
// workload, signs in like a user with a browser, and uses the workload like an MCP client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { apiClient } from '@toolhive/api/testing/api-client';

/** What a scenario tells its client. */
const Context = z.object({
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })).optional(),
});

const { env } = process;
const { client_id, client_secret, toolCalls } = Context.parse(
  JSON.parse(env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'),
);
const revision = env['MCP_CONFORMANCE_PROTOCOL_VERSION'];
const daemon = apiClient({ base: env['THV_CONFORMANCE_API'] ?? '' });
const name = `suite-${process.pid}`;
const params = { name };

/** The clients of all scenarios run at once, so that shorter pauses keep the daemon busy with answers. */
const pollMs = 250;

const over = new AbortController();
const browser = useBrowser(over.signal);
try {
  await runWorkload(process.argv.at(-1) ?? '');
  await useWorkload((await daemon.getWorkload({ params })).proxy_url);
} finally {
  over.abort();
  await browser;
  await daemon.deleteWorkload({ params }).catch(() => {}); // it was refused
}

/** Opens the page in the status of the workload, as a user does who is asked to sign in. */
async function useBrowser(signal: AbortSignal): Promise<void> {
  const visited = new Set<string>();
  while (!signal.aborted) {
    const status = await daemon.getWorkloadStatus({ params }).catch(() => undefined); // not created yet
    const [, page] = /sign in (?:for .* )?at (https?:\S+)/.exec(status?.status_context ?? '') ?? [];
    if (page !== undefined && !visited.has(page)) {
      visited.add(page);
      await fetch(page, { signal }).catch(() => {}); // the scenario or ToolHive refuses it
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
}

async function runWorkload(url: string): Promise<void> {
  const secret = client_secret === undefined ? undefined : { name, target: 'oauth_secret' };
  if (client_secret !== undefined) await daemon.createSecret({ body: { key: name, value: client_secret } });
  const oauth_config = { client_id, client_secret: secret };
  await daemon.createWorkload(
    { body: { name, url, transport: 'streamable-http', oauth_config } },
    { onProgress: () => {} },
  );
  await untilRunning();
}

async function untilRunning(): Promise<void> {
  for (;;) {
    const { status, status_context } = await daemon.getWorkloadStatus({ params });
    if (status === 'error') throw new Error(status_context);
    if (status === 'running') return;
    await delay(pollMs);
  }
}

async function useWorkload(url: string): Promise<void> {
  const client = new Client(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } } },
      ...(revision === '2026-07-28' ? { versionNegotiation: { mode: { pin: revision } } } : {}),
    },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const [first] = tools;
  const calls =
    toolCalls ??
    tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool.inputSchema, first?.inputSchema) }));
  for (const call of calls) {
    // A call that needs another scope fails until the user has signed in again.
    await client.callTool(call).catch(async () => {
      await untilRunning();
      await client.callTool(call).catch(() => {}); // the scenario refuses it for good
    });
  }
  await client.close();
}

/** A value for each parameter, and a schema of the server itself where a tool asks for one. */
function argumentsFor(
  { properties = {} }: { properties?: object },
  schema: unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const { type } = property as { type?: unknown };
      return [name, name === 'schema' ? schema : type === 'number' ? 1 : type === 'boolean' ? true : 'text'];
    }),
  );
}
