import { parseArgs } from 'node:util';
import { invalid, messageOf, notFound } from '@toolhive/contract/failure';
import { escaped } from '@toolhive/contract/printable';
import type { RunConfig } from '@toolhive/contract/run-config';
import { metaSettings } from '@toolhive/tool-search/settings';
import { networkOf } from '@toolhive/core/network-grant';
import { checkSingleWorkload } from '@toolhive/core/check-single-workload';
import { runSingleWorkload } from '@toolhive/core/single-workload';
import { loadConfig } from '@toolhive/kubernetes/config';
import { ForwardProxy } from '@toolhive/runtime/forward-proxy';
import type { Logger } from 'pino';
import { openLog } from '../log.ts';
import { startMetaServer } from '../meta/meta-server.ts';
import { version } from '../version.ts';
import { attachToPod } from './attached-server.ts';
import { LoggedEgress } from './logged-egress.ts';
import { publicHostsOf } from './public-hosts.ts';
import { reachHttpServer } from './http-server.ts';
import { readRunConfig } from './run-config-file.ts';

/** The port of the egress gateway. The operator sets the proxy variables of servers to this port. */
const egressPort = 3128;

const options = {
  'run-config': { type: 'string' },
  'server-host': { type: 'string' },
  'egress-port': { type: 'string' },
} as const;

/**
 * Runs the command line of the proxy runner until the signal aborts: `run [--run-config FILE] [--server-host HOST]
 * [--egress-port PORT]`. Throws `invalid` for a command line or a run config that cannot run with all of its rules.
 */
export async function runProxy(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const flags = flagsOf(words);
  const runConfig = await readRunConfig(flags['run-config'], env);
  const readSecret = async (name: string): Promise<string> => {
    const value = env[name];
    if (value === undefined || value === '')
      throw notFound(`secret ${name} not found`, { hint: 'set the environment variable of the same name' });
    return value;
  };
  await checkSingleWorkload(runConfig, { readSecret });
  if (runConfig.built_in !== undefined) metaSettings(runConfig.env_vars ?? {}, 'k8s'); // throws for invalid values
  const log = openLog({ debug: runConfig.debug === true || env['TOOLHIVE_DEBUG'] === 'true' });
  await using _egress = await openEgress(runConfig, log, portOf(flags['egress-port']));
  await runSingleWorkload(runConfig, {
    version,
    env,
    log,
    readSecret,
    publicHosts: publicHostsOf(runConfig.name, env),
    writeAudit: (line) => {
      process.stdout.write(escaped(line));
    },
    reachServer: async (_report, over) => {
      if (runConfig.built_in !== undefined)
        return startMetaServer(runConfig, { config: await loadConfig(env), env, log, signal: over });
      return runConfig.transport === 'stdio'
        ? attachToPod(await loadConfig(env), podOf(runConfig, env), { log, signal: over })
        : reachHttpServer({
            host: flags['server-host'] ?? `mcp-${runConfig.name}-headless`,
            port: runConfig.target_port ?? 0,
          });
    },
    signal,
  });
}

function flagsOf(words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const [command = 'run', extra] = positionals;
    if (command !== 'run' || extra !== undefined) throw new Error(`unexpected argument ${extra ?? command}`);
    return values;
  } catch (error) {
    throw invalid(messageOf(error), { hint: 'run proxy-runner run [--run-config FILE]', cause: error });
  }
}

function portOf(text: string | undefined): number {
  const port = Number(text ?? egressPort);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`--egress-port is not a port: ${text}`);
}

/** The server pod. Its StatefulSet has one replica, because a stdio server has one standard input. */
function podOf({ name }: RunConfig, env: NodeJS.ProcessEnv) {
  const namespace = env['POD_NAMESPACE'];
  return { name: `${name}-0`, ...(namespace ? { namespace } : {}) };
}

async function openEgress(
  runConfig: RunConfig,
  log: Logger,
  port: number,
): Promise<ForwardProxy | undefined> {
  const grant = networkOf(runConfig);
  if (runConfig.remote_url || grant.kind !== 'rules') return undefined;
  const proxy = await ForwardProxy.open({
    host: '0.0.0.0',
    port,
    egress: new LoggedEgress(grant.rules, log),
  });
  log.info({ port: proxy.port }, 'egress gateway listening');
  return proxy;
}
