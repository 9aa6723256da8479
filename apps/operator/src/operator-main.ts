import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { messageOf } from '@toolhive/contract/failure';
import { loadConfig } from '@toolhive/kubernetes/config';
import { LEASE, runOperator } from '@toolhive/operator/operator';
import { pino } from 'pino';

const { env } = process;
const log = pino({ name: 'operator', base: null });
const isBundled = import.meta.url.endsWith('.js');
/** Passes that ignore the signal cannot keep the process alive longer. */
const SHUTDOWN_MS = 9_000;

/** The flags of the command line. Throws if there is another one. */
function flagsIn(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      'metrics-bind-address': { type: 'string', default: ':8080' },
      'health-probe-bind-address': { type: 'string', default: ':8081' },
      'leader-elect': { type: 'boolean', default: false },
      'leader-election-id': { type: 'string', default: LEASE },
    },
  });
  return values;
}

/** The names in a list with commas. */
function namesIn(list = ''): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    stop.abort();
    setTimeout(() => process.exit(1), SHUTDOWN_MS).unref();
  });
}

try {
  const flags = flagsIn(process.argv.slice(2));
  const config = await loadConfig();
  await runOperator(
    {
      config,
      log,
      namespaces: namesIn(env['WATCH_NAMESPACE']),
      namespace: env['POD_NAMESPACE'] ?? config.namespace,
      identity: env['POD_NAME'] ?? `${hostname()}-${process.pid}`,
      leaderElection: flags['leader-elect'],
      lease: flags['leader-election-id'],
      metricsAddress: flags['metrics-bind-address'],
      probeAddress: flags['health-probe-bind-address'],
      sourceReader: new URL(isBundled ? 'source-reader.js' : 'source-reader-main.ts', import.meta.url),
      runnerImage: env['TOOLHIVE_RUNNER_IMAGE'] ?? 'ghcr.io/stacklok/toolhive/proxyrunner:latest',
      registryImage: env['TOOLHIVE_REGISTRY_API_IMAGE'] ?? 'ghcr.io/stacklok/thv-registry-api:latest',
      imagePullSecrets: namesIn(env['TOOLHIVE_IMAGE_PULL_SECRETS']),
      proxyHost: env['TOOLHIVE_PROXY_HOST'] ?? '0.0.0.0',
    },
    stop.signal,
  );
} catch (error) {
  log.fatal(`the operator ended: ${messageOf(error)}`);
  process.exit(1); // another replica may lead, so nothing of this one may go on
}
