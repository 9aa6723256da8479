import { stat } from 'node:fs/promises';
import { advice, fixes } from '@toolhive/contract/fixes';
import { defaultGroup } from '@toolhive/contract/names';
import type { WorkloadStatus } from '@toolhive/contract/workload';
import { McpClient } from '@toolhive/proxy/client';
import type { OutboundRules } from '@toolhive/runtime/outbound-rules';
import { Pool } from 'undici';
import type { Core } from '../core.ts';
import type { StateWing } from '../wings/state.ts';
import type { GovernanceWing } from '../wings/governance.ts';
import { openPolicies } from '@toolhive/access/workload-access';
import { installationSettings } from '@toolhive/state/values';
import { grantedSourceOf } from '../permissions/local-source.ts';
import { mountsOf } from '../permissions/mounts.ts';
import { isLocal, isRemote, urlOf } from '../run-config/kinds.ts';
import { warningsOf } from '../permissions/warnings.ts';
import { networkOf } from '../permissions/network.ts';
import { complaintIn } from '@toolhive/runtime/cause';
import { packageSourceOf } from '../supervision/launch.ts';
import { knownServer } from '../supervision/run-workload.ts';
import type { Supervisor } from '../supervision/supervisor.ts';
import { failed, ok, skipped, warning } from './check.ts';
import { repeatedNames } from './repeated-names.ts';
import type { Check, Found } from './check.ts';

interface Subject {
  core: Core;
  supervisor: Supervisor;
}

/** How much of its log is shown with a server that does not run. */
const shownLines = 5;

/** The layers of a workload, from its runtime to its clients. */
export const workloadChecks: readonly Check<Subject>[] = [
  { layer: 'runtime', look: runtimeOf },
  { layer: 'sandbox', needs: ['runtime'], look: sandboxOf },
  { layer: 'permissions', look: permissionsOf },
  { layer: 'network', look: networkRulesOf },
  { layer: 'secrets', look: secretsOf },
  { layer: 'install', needs: ['runtime', 'permissions', 'secrets'], look: installationOf },
  { layer: 'process', look: processOf },
  { layer: 'port', look: portOf },
  { layer: 'tokens', look: tokensOf },
  { layer: 'protocol', needs: ['process', 'port'], look: protocolOf },
  { layer: 'listing', needs: ['process', 'port', 'tokens'], look: listingOf },
  { layer: 'policies', look: policiesOf },
  { layer: 'clients', look: clientsOf },
];

async function runtimeOf(
  { core, supervisor: { runConfig } }: Subject,
  signal: AbortSignal,
): Promise<Found[]> {
  if (runConfig.built_in !== undefined) return [ok('built into ToolHive')];
  if (isRemote(runConfig)) return [ok(`remote server at ${addressOf(runConfig.remote_url)}`)];
  const report = await core.runtimes.of(runConfig).check(signal);
  return [report.available ? ok(report.detail) : failed(report.detail, report.hint)];
}

/** Settings that cannot be enforced. A remote server does not run in a sandbox on this machine. */
async function sandboxOf({ core, supervisor }: Subject, signal: AbortSignal): Promise<Found[]> {
  const { runConfig, limits } = supervisor;
  if (!isLocal(runConfig)) return [];
  const known = limits.length > 0 ? limits : (await core.runtimes.of(runConfig).check(signal)).limits;
  const warnings = warningsOf(runConfig, known);
  return warnings.length === 0
    ? [ok('this machine enforces all permissions of the workload')]
    : warnings.map((text) => warning(text));
}

/** Every mount source must exist. */
async function permissionsOf({ supervisor: { runConfig } }: Subject): Promise<Found[]> {
  if (!isLocal(runConfig)) return [];
  const mounts = mountsOf(runConfig.permission_profile ?? {}, runConfig.volumes ?? []);
  const found = await Promise.all(
    mounts.map(async ({ source, target, readOnly }): Promise<Found> => {
      const isThere = await stat(source).then(
        () => true,
        () => false,
      );
      const how = readOnly ? 'read' : 'read and write';
      return isThere
        ? ok(`can ${how} ${source}, as ${target}`)
        : failed(
            `the mount source ${source} does not exist`,
            'create it, or run the workload without this mount',
          );
    }),
  );
  return found.length === 0 ? [ok('the server cannot access files on this machine')] : found;
}

/** The workload's network access, and denials in its log. */
async function networkRulesOf({ core, supervisor }: Subject): Promise<Found[]> {
  const { runConfig } = supervisor;
  if (!isLocal(runConfig)) return [];
  const network = networkOf(runConfig);
  if (network.kind === 'mode') return [ok(`the network mode is ${network.mode}`)];
  if (network.kind === 'rules') return rulesOf(core, supervisor, network.rules);
  const { rule, refusal, hint } =
    egress[network.kind === 'open' && network.privateAddresses !== 'all' ? 'public' : network.kind];
  const log = await core.logs.read(runConfig.name, 'server', { lines: searchedLines });
  const refused = log.split('\n').findLast((line) => refusal.test(line));
  if (refused === undefined) return [ok(rule)];
  return [warning(`${rule}, and the log shows a denial: ${shorten(refused.trim())}`, hint)];
}

/** What its rules allow, and the latest hosts that they denied. */
function rulesOf(
  core: GovernanceWing,
  { id, runConfig: { name } }: Supervisor,
  { hosts, everyPublicHost = hosts === undefined, ports, localPorts = [] }: OutboundRules,
): Found[] {
  const where = [...(hosts ?? []), ...(everyPublicHost ? ['every public host'] : [])].join(', ');
  const outside = where === '' ? [] : [`${where} on port ${ports.join(', ')}`];
  const local = localPorts.length === 0 ? [] : [`port ${localPorts.join(', ')} of this machine`];
  const rule = `the server can reach ${[...outside, ...local].join(', and ')}`;
  const denied = core.decisions.list(id, 'denied').slice(0, shownDenials);
  if (denied.length === 0) return [ok(rule)];
  const places = denied.map(({ host, port }) => (port === undefined ? host : `${host}:${port}`));
  const fix = denied[0]?.fix === undefined ? '' : `, and ${denied[0].fix} allows the latest`;
  return [
    warning(
      `${rule}, and was denied ${places.join(', ')}`,
      advice(`thv network ${name} shows all of them${fix}`, fixes.showConnections(name)),
    ),
  ];
}

const shownDenials = 5;

/** How much of the log is searched for denials, and how much of a line is shown. */
const searchedLines = 500;
const shorten = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line);

const loopbackRefusal =
  /(?:ECONNREFUSED|connection refused).*(?:\b127\.|localhost|::1)|(?:\b127\.|localhost|::1).*(?:ECONNREFUSED|connection refused)/i;

/** The effect of each kind of network, and the typical messages of servers that need more access. */
const egress = {
  none: {
    rule: 'the server has no network access',
    refusal:
      /\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED)\b|network is unreachable|no route to host|name resolution|name or service not known|no such host|connection refused/i,
    hint: 'if you trust it with network access, run it again with --permission-profile network',
  },
  public: {
    rule: 'the server can reach every public host, and no private addresses other than the listed ones',
    refusal: new RegExp(`\\bEHOSTUNREACH\\b|no route to host|${loopbackRefusal.source}`, 'i'),
    hint: 'list the private address in allow_host of its profile, or turn network isolation off: --isolate-network=false',
  },
  open: {
    rule: "the server can reach the network, but not this machine's loopback",
    refusal: loopbackRefusal,
    hint: 'let the other program listen on an address other than loopback, and use this address for the server',
  },
} satisfies Record<'none' | 'public' | 'open', { rule: string; refusal: RegExp; hint: string }>;

async function secretsOf({ core, supervisor: { runConfig } }: Subject): Promise<Found[]> {
  const count = (runConfig.secrets ?? []).length;
  if (count === 0) return [ok('the server needs no secrets')];
  await core.secretsOf(runConfig); // throws for missing secrets
  return [ok(count === 1 ? 'the required secret exists' : `all ${count} required secrets exist`)];
}

/** A running server is installed. Any other server is prepared, as it would be at the next start. */
async function installationOf({ core, supervisor }: Subject, signal: AbortSignal): Promise<Found[]> {
  const { runConfig, condition } = supervisor;
  if (!isLocal(runConfig)) return [];
  if (condition.status === 'running') return [ok(`${runConfig.image ?? 'it'} is installed`)];
  if (condition.status === 'starting') return [skipped(condition.context ?? 'the server is starting')];
  await core.runtimes.of(runConfig).prepare(packageSourceOf(runConfig), {
    ...installationSettings(core.settings),
    granted: await grantedSourceOf(core.mounts, supervisor),
    report: () => {},
    signal,
  });
  return [ok(`${runConfig.image ?? 'it'} is installed`)];
}

async function processOf({ core, supervisor }: Subject): Promise<Found[]> {
  const { runConfig, condition, lastFailure } = supervisor;
  const { name } = runConfig;
  const why = condition.context === undefined ? '' : `: ${condition.context}`;
  const found: Record<WorkloadStatus, () => Found | Promise<Found>> = {
    running: () => ok(isRemote(runConfig) ? 'the server responds' : 'the server is running'),
    starting: () =>
      lastFailure === undefined
        ? warning(
            `the server is starting${why}`,
            advice(`wait, or follow its log: \`thv logs --follow ${name}\``, fixes.showLogs(name)),
          )
        : failureOf(core, name, `: ToolHive restarts the server after ${lastFailure}`),
    stopped: () =>
      failed('the workload was stopped', advice(`start it again: thv start ${name}`, fixes.start(name))),
    unhealthy: () =>
      failed(`the server does not respond${why}`, advice(`\`thv restart ${name}\``, fixes.restart(name))),
    error: () => failureOf(core, name, why),
    stopping: () => warning('the server is stopping'),
    removing: () => warning('the workload is being removed'),
    unknown: () => warning(`the state is unknown${why}`),
  };
  return [await found[condition.status]()];
}

/** What went wrong, with the last that the server had to say. */
async function failureOf(core: StateWing, name: string, why: string): Promise<Found> {
  const said = (await core.logs.read(name, 'server', { lines: shownLines })).trim();
  const last = said === '' ? 'the server has no output' : `the last output was:\n${said}`;
  return failed(
    `the server is not running${why}; ${last}`,
    advice(
      `run thv logs ${name} to see its output, or thv restart ${name} to try again`,
      fixes.showLogs(name),
      fixes.restart(name),
    ),
  );
}

/** The proxy stays while servers come and go, so that its port is open whenever the workload should run. */
async function portOf(
  { supervisor: { runConfig, condition } }: Subject,
  signal: AbortSignal,
): Promise<Found[]> {
  const { port } = runConfig;
  if (condition.status === 'stopped') return [skipped(`port ${port} will open when the workload starts`)];
  const origin = new URL(urlOf(runConfig)).origin;
  const proxy = new Pool(origin);
  try {
    const { body, headers } = await proxy.request({ method: 'GET', path: '/health', signal });
    const text = await body.text();
    if (String(headers['content-type']).startsWith('application/json') && text.includes('"transport"'))
      return [ok(`the proxy listens on ${origin}`)];
    return [
      failed(
        `another program listens on port ${port}`,
        'stop that program, or run the workload with another --proxy-port',
      ),
    ];
  } catch {
    signal.throwIfAborted();
    return [
      failed(
        `nothing listens on port ${port}`,
        advice(`see the reason with thv logs --proxy ${runConfig.name}`, fixes.showProxyLogs(runConfig.name)),
      ),
    ];
  } finally {
    await proxy.destroy();
  }
}

/** The status reports the need to sign in, with the address. */
function tokensOf({ supervisor: { runConfig, condition } }: Subject): Found[] {
  if (!isRemote(runConfig)) return [];
  const { status, context = '' } = condition;
  if (status === 'running') return [ok('the server accepts ToolHive')];
  return context.includes('authorization') || status === 'unhealthy'
    ? [
        failed(
          context,
          advice(`\`thv restart ${runConfig.name}\` opens the sign-in again`, fixes.restart(runConfig.name)),
        ),
      ]
    : [skipped('the server was not reached')];
}

function protocolOf({ supervisor: { protocol, deviations } }: Subject): Found[] {
  if (protocol === undefined) return [skipped('the handshake is not over yet')];
  return [
    ok(
      protocol === 'modern'
        ? 'the server uses protocol version 2026-07-28'
        : 'the server uses a protocol version with sessions, and ToolHive translates for newer clients',
    ),
    ...deviations.map(doubtful),
  ];
}

function doubtful(deviation: string): Found {
  return warning(deviation, 'clients can use the server nevertheless. Tell its author');
}

/** Lists the tools through the proxy, as a client does. */
async function listingOf({ core, supervisor }: Subject, signal: AbortSignal): Promise<Found[]> {
  const { runConfig, live } = supervisor;
  const told = new Set(supervisor.deviations);
  const transport = new URL(urlOf(runConfig)).pathname === '/sse' ? 'sse' : 'streamable-http';
  const { proxy } = live;
  await using client = await McpClient.connect({
    url: urlOf(runConfig),
    transport,
    ...(proxy === undefined ? {} : { open: () => proxy.ownConnections.open }),
    version: core.version,
    signal,
  });
  const tools = await client.list('tools', signal);
  const names = new Set(tools.map(({ name }) => name));
  const doubts = [
    ...client.deviations,
    ...supervisor.deviations.filter((deviation) => !told.has(deviation)), // those of this list
    ...repeatedNames(
      tools.map(({ name }) => String(name)),
      shownDenials,
    ),
  ].map(doubtful);
  const unknown = (runConfig.tools_filter ?? []).filter((name) => !names.has(name));
  const count = tools.length === 1 ? 'one tool' : `${tools.length} tools`;
  if (unknown.length > 0) {
    return [
      warning(
        `the server offers ${count}, but none named ${unknown.join(' or ')}`,
        advice(
          '--tools contains these names. Run thv mcp list tools to see the available tools',
          fixes.edit(runConfig.name),
        ),
      ),
      ...doubts,
    ];
  }
  if (tools.length > 0) return [ok(`the server offers ${count}`), ...doubts];
  const complaint = complaintIn(
    await core.logs.read(runConfig.name, 'server', { lines: searchedLines }),
    knownServer(runConfig),
  );
  return [
    complaint?.fix === undefined
      ? warning('the server offers no tools')
      : warning(`the server offers no tools, and its log says: ${shorten(complaint.line)}`, complaint.fix),
    ...doubts,
  ];
}

/** Whether the policies name only items that the server offers. Runs after the tools check, which lists the items. */
async function policiesOf({ core, supervisor: { id, runConfig } }: Subject): Promise<Found[]> {
  using policies = await openPolicies(runConfig);
  if (policies === undefined) return [];
  const { offered } = core.pins.offerOf(id);
  const doubts = policies.doubtsAbout(offered);
  if (doubts.length > 0)
    return doubts.map((doubt) => warning(`mistake in ${doubt}`, 'correct the authorization policies'));
  return [
    offered.Tool === undefined
      ? ok("the policies are valid, but the server's tools are not known yet")
      : ok('the policies are valid and name only tools that the server offers'),
  ];
}

function clientsOf({ core, supervisor: { runConfig } }: Subject): Found[] {
  const { group = defaultGroup } = runConfig;
  const users = core.clients.list().filter(({ groups }) => groups.length === 0 || groups.includes(group));
  if (users.length === 0)
    return [
      warning(
        `no client has access to the group ${group}`,
        advice('run thv client setup to register clients', fixes.connectClients),
      ),
    ];
  return users.map(({ name }) => {
    const problem = core.clients.problemWith(name, runConfig.name);
    return problem === undefined
      ? ok(`${name} is configured for this workload`)
      : failed(
          `${name}: ${problem}`,
          advice(`\`thv doctor ${name}\` shows the details`, fixes.showClient(name)),
        );
  });
}

/** A URL without its query, which may contain private data. */
function addressOf(url = ''): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
