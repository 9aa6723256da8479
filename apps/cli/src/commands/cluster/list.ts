import { defaultGroup } from '@toolhive/contract/names';
import { printable } from '@toolhive/contract/printable';
import type { WorkloadStatus } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { readPairs } from '../workloads/assignments.ts';
import { allowOnly } from './cluster.ts';
import { inCluster, listServers, serverKinds } from './connection.ts';
import type { ServerObject } from './connection.ts';

const statuses: Record<string, WorkloadStatus> = {
  Running: 'running',
  Ready: 'running',
  Pending: 'starting',
  Failed: 'error',
  Terminating: 'removing',
};

/** Lists the servers of a namespace, in the format of local workloads. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, signal } = call;
  allowOnly(flags, ['all', 'group', 'label']);
  const labels = readPairs('label', flags.list('label'));
  const group = flags.text('group');
  await inCluster(call, async (client, namespace) => {
    const lists = await Promise.all(
      serverKinds.map(async (kind) =>
        (await listServers(client, kind, namespace, signal)).map((server) => shownServer(kind.kind, server)),
      ),
    );
    const servers = lists
      .flat()
      .filter((server) => group === undefined || server.group === group)
      .filter((server) => labels.every(([key, value]) => server.labels[key] === value))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const result = flags.text('format') === 'mcpservers' ? asClientSettings(servers) : servers;
    out.result(result, (page) => {
      if (servers.length === 0) return page.line(`No servers found in namespace ${namespace}.`);
      page.table(
        ['NAME', 'PACKAGE', 'STATUS', 'URL', 'PORT', 'TOOL TYPE', 'GROUP', 'CREATED AT'],
        servers.map((server) => [
          server.name,
          server.remote ? 'remote' : printable(server.package),
          server.status,
          printable(server.url),
          String(server.port),
          server.tool_type,
          server.group,
          server.created_at,
        ]),
      );
      for (const { name, status, status_context: context } of servers) {
        if (context !== undefined && status !== 'running') out.note(`${name}: ${printable(context)}`);
      }
    });
  });
}

function shownServer(kind: string, { metadata, spec, status = {} }: ServerObject) {
  return {
    name: metadata.name,
    package: spec.image ?? '',
    url: status.url ?? '',
    port: spec.port ?? 0,
    tool_type: 'mcp' as const,
    transport_type: spec.transport ?? '',
    proxy_mode: spec.transport === 'stdio' ? (spec.proxyMode ?? 'sse') : (spec.transport ?? ''),
    status: statuses[status.phase ?? ''] ?? 'unknown',
    ...(status.message ? { status_context: status.message } : {}),
    created_at: metadata.creationTimestamp ?? '',
    labels: metadata.labels ?? {},
    group: spec.groupRef ?? defaultGroup,
    remote: kind === 'MCPRemoteProxy',
    runtime: 'kubernetes',
    namespace: metadata.namespace,
  };
}

function asClientSettings(servers: readonly ReturnType<typeof shownServer>[]): object {
  const entries = servers.map(({ name, url, proxy_mode: type }) => [name, { url, type }] as const);
  return { mcpServers: Object.fromEntries(entries) };
}
