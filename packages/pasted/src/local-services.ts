import { maxLocalPorts } from '@toolhive/contract/names';
import type { CreateWorkload } from '@toolhive/contract/workload';

/** A service on this machine's loopback address. The port is unknown if only a host is named. */
export interface LocalService {
  /** As in the configuration: `localhost:5432`, `127.0.0.1`. */
  address: string;
  port: number | undefined;
}

/** The ports of URLs that name none. */
const defaultPorts: Readonly<Record<string, number>> = {
  http: 80,
  https: 443,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  mariadb: 3306,
  redis: 6379,
  mongodb: 27_017,
  amqp: 5672,
  bolt: 7687,
  neo4j: 7687,
  clickhouse: 8123,
  mssql: 1433,
  sqlserver: 1433,
};

const loopback = String.raw`localhost|127(?:\.\d{1,3}){3}|\[::1\]`;
/** A URL, with a user or without, perhaps behind other words: `jdbc:postgresql://me:key@localhost/db`. */
const url = new RegExp(
  String.raw`\b([a-z][a-z0-9+.-]{1,20})://(?:[^\s/@]{0,200}@)?(${loopback})(?::(\d{1,5}))?(?![\w.:-])`,
  'gi',
);
/** A host with a port, at the start of a text or behind what separates values. */
const hostAndPort = new RegExp(String.raw`(?:^|[\s=,;"'(@])(${loopback}):(\d{1,5})(?![\w.])`, 'gi');
const wholeHost = new RegExp(`^(?:${loopback}|::1)$`, 'i');

/**
 * Variables with the host of a service. `HOST` alone, and those of frameworks for servers, name the address that the server
 * itself listens on.
 */
const hostOfService =
  /^((?:\w+_)?(?:PG|POSTGRES\w*|MYSQL|MARIADB|MSSQL|DB|DATABASE|REDIS|MONGO\w*|NEO4J|QDRANT|ELASTIC\w*|OPENSEARCH|CLICKHOUSE|CHROMA\w*|MILVUS|WEAVIATE|KAFKA|RABBITMQ|OLLAMA|OBSIDIAN|BLENDER))_?HOST(?:NAME)?$/i;

/** ToolHive has its own way to a proxy, and servers work without a collector. */
const withoutNeed = /^OTEL_|_PROXY$/i;

/** The local services that an isolated server's arguments and variables name, except for granted ports. */
export function localServices({
  url: remote,
  network_mode: mode,
  cmd_arguments: args,
  env_vars: given,
  local_ports: granted,
}: CreateWorkload): LocalService[] {
  if (remote !== undefined || mode === 'host') return [];
  const variables = Object.fromEntries(
    Object.entries(given ?? {}).filter(([name]) => !withoutNeed.test(name)),
  );
  const found = new Map<string, LocalService>();
  const add = (host: string, port: number | undefined): void => {
    const address = port === undefined ? host : `${host}:${port}`;
    if (port !== undefined && (port === 0 || port > 65_535 || granted?.includes(port))) return;
    found.set(address, { address, port });
  };
  for (const text of [...(args ?? []), ...Object.values(variables)]) {
    if (text.length > maxText) continue;
    for (const [, scheme = '', host = '', port] of text.matchAll(url)) {
      const kind = scheme.toLowerCase().replace(/\+.*$/, '');
      if (kind !== 'file') add(host, port === undefined ? defaultPorts[kind] : Number(port));
    }
    for (const [, host = '', port] of text.matchAll(hostAndPort)) add(host, Number(port));
  }
  for (const [name, value] of Object.entries(variables)) {
    const [, service] = hostOfService.exec(name) ?? [];
    if (service === undefined || !wholeHost.test(value)) continue;
    const port = Number(variables[`${service}_PORT`] ?? variables[`${service}PORT`] ?? Number.NaN);
    add(value, Number.isInteger(port) ? port : undefined);
  }
  return [...found.values()];
}

const maxText = 10_000;

/** A note about services that the server cannot reach, with the way to grant the access. */
export function unreachableServices(
  request: CreateWorkload,
  howToGrant: (services: readonly LocalService[]) => string = grantOf,
): string[] {
  const services = localServices(request);
  if (services.length === 0) return [];
  const addresses = services.map(({ address }) => address).join(', ');
  return [
    `the server cannot reach ${addresses} of this machine, because its network is isolated. If it uses a service there, ${howToGrant(services)}`,
  ];
}

/** How the user lets a server use local services. */
export function grantOf(services: readonly LocalService[]): string {
  const ports = [...new Set(services.flatMap(({ port }) => port ?? []))].slice(0, maxLocalPorts);
  return `repeat the command with ${ports.length === 0 ? '--allow-local-port and its port' : ports.map((port) => `--allow-local-port ${port}`).join(' ')}`;
}
