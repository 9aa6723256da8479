import type { Socket } from 'node:net';
import { Adoptions } from '@toolhive/adoption/adoptions';
import type { Access } from '@toolhive/access/access';
import type { Core } from '@toolhive/core/core';
import { startSignIn } from '@toolhive/core/sign-in';
import { changeSetting, getSetting, listSettings, unsetSetting } from '@toolhive/core/settings';
import type { ApiPolicies } from '@toolhive/access/api-policies';
import { checkWorkload, inspectBundle } from '@toolhive/core/check';
import { previewImport } from '@toolhive/pasted/import';
import { usualSearchPath } from '@toolhive/pasted/search-path';
import { Projects } from '@toolhive/project/projects';
import { checkAuthorization } from '@toolhive/core/authorization';
import { createWorkload, editWorkload } from '@toolhive/core/create';
import { getWorkload, listWorkloads } from '@toolhive/core/describe';
import { diagnoseClient, diagnoseMachine, diagnoseWorkload } from '@toolhive/core/diagnosis';
import { buildImage, writeRecipe } from '@toolhive/core/images';
import { createGroup, deleteGroup, editGroup, getGroup, listGroups } from '@toolhive/core/groups';
import { metaListingTokens } from '@toolhive/core/meta-tools';
import { listToolCosts } from '@toolhive/core/groups';
import {
  exportBundle,
  deleteWorkload,
  execWorkload,
  exportManifest,
  exportWorkload,
  logRecordsOf,
  logsOf,
  pruneLogs,
  operateOnMany,
  restartWorkload,
  sendExecInput,
  startWorkload,
  statusOf,
  stopWorkload,
} from '@toolhive/core/operate';
import type { Accepted } from '@toolhive/core/operate';
import {
  changePermissions,
  getPermissions,
  listNetworkDecisions,
  watchNetworkDecisions,
} from '@toolhive/core/network';
import { getCapabilities } from '@toolhive/core/capabilities';
import {
  changeTrafficRecording,
  endSession,
  getHistory,
  getTrafficEntry,
  listSessions,
  listTraffic,
  proxyOf,
  watchTraffic,
} from '@toolhive/core/traffic';
import { getUsage, listUsage } from '@toolhive/core/usage';
import { getLearning, startLearning, stopLearning } from '@toolhive/core/network';
import { findUpdate, upgradeWorkload } from '@toolhive/core/update';
import { changeToolPinning, decidePins, getToolPins } from '@toolhive/core/tool-pins';
import {
  forbidden,
  invalid,
  notFound,
  notImplemented,
  unavailable,
  unsupported,
} from '@toolhive/contract/failure';
import { defaultGroup, defaultRegistry } from '@toolhive/contract/names';
import type { Operation } from '@toolhive/contract/operation';
import { documentOperation, openApiDocument } from '@toolhive/contract/openapi';
import type { AuditWritten, NumberedAuditRecord } from '@toolhive/contract/audit';
import { operations } from '@toolhive/contract/operations';
import type { Daemon, DaemonProcess } from '@toolhive/contract/system';
import { daemonFeatures } from '@toolhive/contract/system';
import type { CreatedWorkload } from '@toolhive/contract/workload';
import { Hono } from 'hono';
import type { MiddlewareHandler } from 'hono';
import { ApiAuthorization } from './authorization.ts';
import type { IsVisible } from './authorization.ts';
import type { ApiTelemetry } from './telemetry.ts';
import { callRecorder, recordRefusal } from './audit.ts';
import { failureResponse } from './failures.ts';
import { authenticated, bodiesAsJsonOnly, ownRequestsOnly, rateLimit, securityHeaders } from './guards.ts';
import { withLaterRoute } from './later-routes.ts';
import { mounter, pathsOf } from './mount.ts';
import type { AppFrames } from './app-frames.ts';
import { UiSessions, sessionCookie } from './ui-sessions.ts';
import { unmanagedServers } from './unmanaged.ts';
import { actsForOwnUser } from './peer-user.ts';
import { createRegistryApi } from './registry-api.ts';
import { referencePage } from './reference-page.ts';
import type { Site } from './site.ts';
import type { Followed } from './mount.ts';

export interface ApiOptions {
  /** The listener. The API answers only requests for its address. */
  listener: TcpListener | DaemonSocket;
  /** The documentation, which is served without authentication. */
  site?: Site | undefined;
  /** The files of the web UI, which are also served without authentication. */
  ui?: Site | undefined;
  /** The browsers that have signed in. */
  uiSessions?: UiSessions | undefined;
  /** The frames for MCP Apps in the web UI. */
  appFrames?: AppFrames | undefined;
  /** Traces and measures the requests. */
  telemetry?: ApiTelemetry | undefined;
  /** Whether to serve an API reference at `/api/doc`. */
  reference?: boolean;
}

export interface TcpListener {
  host: string;
  port: number;
  /** The authentication. Without it, every program that can reach the listener can use the API. */
  access?: Access | undefined;
  /** The authorization policies, by default none. They require `access`, which identifies callers. */
  policies?: ApiPolicies | undefined;
}

/** The daemon's own socket, over which it answers for itself, too. */
export interface DaemonSocket {
  daemon: DaemonProcess;
  /** Ends the daemon. */
  stop: () => void;
  /** Returns the address of the web UI, and opens a listener for it if there is none. */
  openUi: () => Promise<string>;
}

/** The base URL of this registry for clients of the MCP registry's API. */
const registryApiBase = '/api/registry';

/** The HTTP API over a core, for one listener. */
export function createApi(
  core: Core,
  { listener, site, ui, uiSessions = new UiSessions(), appFrames, telemetry, reference = false }: ApiOptions,
): Hono {
  const app = new Hono();
  app.onError((error, context) => {
    recordRefusal(core.audit, context, error);
    const failure = withLaterRoute(error, context.req.path);
    return failureResponse(failure, core.log, context.req.header('accept'));
  });
  if (telemetry !== undefined) app.use(telemetry.middleware);
  // Foreign requests do not use the rate limit of the user's programs.
  app.use(securityHeaders, ownRequestsOnly(listener), rateLimit());
  if (ui !== undefined) app.use(pagesOf(ui));
  if (site !== undefined) app.use(pagesOf(site));
  // Only the user of this daemon can open the Unix socket, because of its file mode.
  if ('access' in listener && listener.access !== undefined) {
    const [signInPath = ''] = pathsOf(operations.createUiSession);
    app.use(authenticated(listener.access, uiSessions, signInPath));
  }
  app.use(bodiesAsJsonOnly);

  const authorization = new ApiAuthorization(core, 'access' in listener ? listener.policies : undefined);
  const mount = mounter(app, { log: core.log, record: callRecorder(core.audit), authorization });
  mount(operations.getHealth, async (_input, { signal }) => {
    await core.runtimes.choose(signal);
  });
  mount(operations.getVersion, async () => ({ version: core.version }));
  mount(operations.getRuntime, (_input, { signal }) => core.runtimes.check(signal));
  mountWorkloads(mount, core);
  mountGroupsAndClients(mount, core);
  mount(operations.writeRecipe, async ({ body }) => writeRecipe(core, body));
  mount(operations.buildImage, async ({ body }, call) => ({
    result: await buildImage(core, body, call),
    follow: async () => {},
  }));
  mountRegistry(mount, core);
  mountSecrets(mount, core);
  mountSettings(mount, core);
  mountAudit(mount, core);
  mount(operations.watchEvents, async ({ headers }, { signal }) =>
    core.events.watch(headers['last-event-id'], signal),
  );
  mount(operations.diagnoseMachine, (_input, { signal }) => diagnoseMachine(core, signal));
  mount(operations.diagnoseWorkload, ({ params }, { signal }) => diagnoseWorkload(core, params.name, signal));
  mount(operations.diagnoseClient, ({ params }, { signal }) => diagnoseClient(core, params.name, signal));
  mount(operations.getDaemon, async () => describeDaemon(core, { listener, site, reference }));
  mount(operations.createUiSession, async ({ body }, { host, socket, responseHeaders }) => {
    await refuseOtherUsers(socket);
    responseHeaders.append('set-cookie', sessionCookie(host, uiSessions.redeem(body.code)));
  });
  mount(operations.createUiApp, async ({ body }, { host }) => {
    if (appFrames === undefined) throw unavailable('this listener has no web UI, which shows apps');
    return appFrames.create(host, body);
  });
  if ('stop' in listener) {
    mount(operations.openUi, async () => ({ url: await listener.openUi() }));
    mount(operations.readSecret, async ({ params: { key } }) => ({
      key,
      value: await core.secrets.read(key),
    }));
    mount(operations.stopDaemon, async () => listener.stop());
  }

  // Made when it is asked for: it takes more memory than all else that an idle daemon holds.
  let document: object | undefined;
  app.get(documentOperation.path, (context) => context.json((document ??= openApiDocument())));
  if (reference) app.get('/api/doc', async (context) => context.html(await referencePage()));
  // The API of another project, so its paths and errors are not those of our operations.
  const registryApi = createRegistryApi({
    read: () => core.registry.read(),
    version: core.version,
    log: core.log,
  });
  app.all(`${registryApiBase}/*`, async (context) => {
    await authorization.require(context, operations.listRegistryServers, {
      params: { name: defaultRegistry },
    });
    const url = new URL(context.req.url);
    url.pathname = url.pathname.slice(registryApiBase.length);
    return registryApi.fetch(
      new Request(url, { method: context.req.method, headers: context.req.raw.headers }),
    );
  });
  app.notFound(({ req }) => {
    const { method, path } = req;
    const accept = req.header('accept');
    const allowed = methodsOf(path);
    if (allowed.length === 0)
      return failureResponse(withLaterRoute(notFound(`${path} not found`), path), core.log, accept);
    const response = failureResponse(unsupported(`${method} is not supported for ${path}`), core.log, accept);
    response.headers.set('allow', allowed.join(', ')); // RFC 9110, section 15.5.6
    return response;
  });
  return app;
}

/** Answers for the site where the API has nothing: a page is read, whether or not its reader may use the API. */
function pagesOf(site: Site): MiddlewareHandler {
  return async ({ req }, next) => {
    const isPage = /^(GET|HEAD)$/.test(req.method) && !/^\/api(\/|$)/.test(req.path);
    const answer = isPage && methodsOf(req.path).length === 0 ? await site.answer(req.raw) : undefined;
    if (answer === undefined) await next();
    return answer;
  };
}

async function refuseOtherUsers(socket: Socket | undefined): Promise<void> {
  if (socket === undefined || (await actsForOwnUser(socket))) return;
  throw forbidden('only a browser of the user who runs this daemon can sign in');
}

type Mount = ReturnType<typeof mounter>;

function describeDaemon(core: Core, { listener, site, reference }: ApiOptions): Daemon {
  const isOn: Record<Daemon['features'][number], boolean> = {
    authentication: 'access' in listener && listener.access !== undefined,
    policies: 'policies' in listener && listener.policies !== undefined,
    documentation: site !== undefined,
    reference: reference === true,
    stop: 'stop' in listener,
  };
  return {
    // Only a daemon in the foreground listens on TCP.
    ...('stop' in listener ? listener.daemon : { pid: process.pid, background: false }),
    started_at: core.startedAt,
    features: daemonFeatures.filter((feature) => isOn[feature]),
  };
}

function mountWorkloads(mount: Mount, core: Core): void {
  mount(operations.listWorkloads, async ({ query }, { isVisible }) => ({
    workloads: listWorkloads(core, query).filter(({ name }) => isVisible('Workload', name)),
  }));
  mount(operations.createWorkload, async ({ body }, call) =>
    followed(core, await createWorkload(core, body, { ...call, mayBeOriginal: true })),
  );
  mount(operations.getWorkload, async ({ params }, { responseHeaders }) => {
    const details = await getWorkload(core, params.name);
    responseHeaders.set('etag', `"${details.revision}"`);
    return details;
  });
  mount(operations.editWorkload, async ({ params, headers, body }, { report, signal }) =>
    followed(
      core,
      await editWorkload(core, params.name, body, {
        report,
        signal,
        ifMatch: headers['if-match'],
        mayBeOriginal: true,
      }),
    ),
  );
  mount(operations.inspectBundle, ({ body }, { signal }) => inspectBundle(core, body, signal));
  mount(operations.previewImport, ({ body }) =>
    previewImport(body.document, usualSearchPath(process.env['PATH'])),
  );
  mount(operations.checkWorkload, ({ body, query }, { signal }) =>
    checkWorkload(core, body, { edited: query.edit, signal }),
  );
  mount(operations.getWorkloadUpdate, ({ params, query }, { signal }) =>
    findUpdate(core, params.name, { report: () => {}, signal, withChanges: query.changes === true }),
  );
  mount(operations.upgradeWorkload, async ({ params, body }, call) =>
    followed(core, await upgradeWorkload(core, params.name, body.version, call)),
  );
  mount(operations.exportWorkload, async ({ params }) => exportWorkload(core, params.name));
  mount(operations.exportManifest, async ({ params }) => exportManifest(core, params.name));
  mount(operations.exportBundle, async ({ params }) => exportBundle(core, params.name));
  mount(operations.getWorkloadStatus, async ({ params }) => statusOf(core, params.name));
  mount(operations.getWorkloadLogs, ({ params, query }, { signal, asLines }) =>
    (asLines ? logRecordsOf : logsOf)(core, params.name, 'server', query, signal),
  );
  mount(operations.getProxyLogs, ({ params, query }, { signal, asLines }) =>
    (asLines ? logRecordsOf : logsOf)(core, params.name, 'proxy', query, signal),
  );
  mount(operations.pruneLogs, () => pruneLogs(core));
  mountPermissions(mount, core);
  mountToolPins(mount, core);
  mountTraffic(mount, core);
  mount(operations.signInWorkload, async ({ params }, { signal }) => {
    const url = await startSignIn(core, params.name, signal);
    return url === undefined ? {} : { url };
  });
  mount(operations.execWorkload, ({ params, body }, { signal }) =>
    execWorkload(core, params.name, body, signal),
  );
  mount(operations.sendExecInput, ({ params, body }) => sendExecInput(core, params.name, body));
  mount(operations.stopWorkload, async ({ params }) => accepted(await stopWorkload(core, params.name)));
  mount(operations.startWorkload, async ({ params }) => accepted(await startWorkload(core, params.name)));
  mount(operations.restartWorkload, async ({ params }) => accepted(await restartWorkload(core, params.name)));
  mount(operations.deleteWorkload, async ({ params }) => accepted(await deleteWorkload(core, params.name)));
  mount(operations.stopWorkloads, async ({ body }) =>
    accepted(await operateOnMany(core, body, stopWorkload)),
  );
  mount(operations.startWorkloads, async ({ body }) =>
    accepted(await operateOnMany(core, body, startWorkload)),
  );
  mount(operations.restartWorkloads, async ({ body }) =>
    accepted(await operateOnMany(core, body, restartWorkload)),
  );
  mount(operations.deleteWorkloads, async ({ body }) =>
    accepted(await operateOnMany(core, body, deleteWorkload)),
  );
}

function mountAdoptions(mount: Mount, adoptions: Adoptions): void {
  const finished = <Result>(result: Result): Followed<Result> => ({ result, follow: async () => {} });
  mount(operations.planAdoption, ({ body }, { signal }) => adoptions.plan(body, signal));
  mount(operations.adoptServers, async ({ body }, call) => finished(await adoptions.adopt(body, call)));
  mount(operations.listAdoptions, async () => ({ adoptions: await adoptions.list() }));
  mount(operations.undoAdoption, async ({ body }, call) => finished(await adoptions.undo(body, call)));
}

function mountProjects(mount: Mount, projects: Projects): void {
  const finished = <Result>(result: Result): Followed<Result> => ({ result, follow: async () => {} });
  mount(operations.planProject, ({ body }, { signal }) => projects.plan(body, signal));
  mount(operations.applyProject, async ({ body }, call) => finished(await projects.apply(body, call)));
  mount(operations.listProjects, async () => ({ projects: await projects.list() }));
  mount(operations.removeProject, async ({ body }, call) => finished(await projects.remove(body.path, call)));
  mount(operations.exportProject, ({ body }) => projects.export(body));
}

function mountPermissions(mount: Mount, core: Core): void {
  mount(operations.listNetworkDecisions, async ({ params, query }) => ({
    decisions: listNetworkDecisions(core, params.name, query),
  }));
  mount(operations.watchNetworkDecisions, async ({ params, query }, { signal }) =>
    watchNetworkDecisions(core, params.name, query.verdict, signal),
  );
  mount(operations.getPermissions, async ({ params }) => getPermissions(core, params.name));
  mount(operations.changePermissions, ({ params, body }) => changePermissions(core, params.name, body));
  mount(operations.startLearning, ({ params, query }) => startLearning(core, params.name, query.seconds));
  mount(operations.getLearning, ({ params }) => getLearning(core, params.name));
  mount(operations.checkAuthorization, ({ params, body }) => checkAuthorization(core, params.name, body));
  mount(operations.stopLearning, ({ params, body }) => stopLearning(core, params.name, body));
}

function mountToolPins(mount: Mount, core: Core): void {
  mount(operations.getToolPins, ({ params }) => getToolPins(core, params.name));
  mount(operations.approveToolPins, async ({ params, body }) =>
    decidePins(core, params.name, body, 'approve'),
  );
  mount(operations.dismissToolPins, async ({ params, body }) =>
    decidePins(core, params.name, body, 'dismiss'),
  );
  mount(operations.changeToolPinning, ({ params, body }) => changeToolPinning(core, params.name, body.mode));
}

function mountTraffic(mount: Mount, core: Core): void {
  for (const operation of [operations.relayMessage, operations.relayStream, operations.endRelaySession]) {
    mount(operation, async ({ params }, { exchange }) => {
      const proxy = proxyOf(core, params.name);
      if (exchange !== undefined) proxy.relay(exchange.request, exchange.response, exchange.principal);
    });
  }
  mount(operations.getCapabilities, ({ params, query }) => getCapabilities(core, params.name, query));
  mount(operations.listTraffic, async ({ params, query }) => listTraffic(core, params.name, query));
  mount(operations.watchTraffic, async ({ params, query, headers }, { signal }) =>
    watchTraffic(core, params.name, { filter: query, afterId: headers['last-event-id'] }, signal),
  );
  mount(operations.changeTrafficRecording, async ({ params, body }) =>
    changeTrafficRecording(core, params.name, body.bodies),
  );
  mount(operations.getTrafficEntry, async ({ params }) => getTrafficEntry(core, params.name, params.id));
  mount(operations.listSessions, async ({ params }) => ({ sessions: listSessions(core, params.name) }));
  mount(operations.endSession, ({ params }) => endSession(core, params.name, params.id));
  mount(operations.getHistory, ({ query }, { isVisible }) =>
    getHistory(core, query, (name) => isVisible('Workload', name)),
  );
  mount(operations.getUsage, ({ params }) => getUsage(core, params.name));
  mount(operations.listUsage, async (_input, { isVisible }) => ({
    usage: await listUsage(core, (name) => isVisible('Workload', name)),
  }));
}

function mountGroupsAndClients(mount: Mount, core: Core): void {
  const { clients } = core;
  mount(operations.listGroups, async (_input, { isVisible }) => ({
    groups: listGroups(core).filter(({ name }) => isVisible('Group', name)),
  }));
  mount(operations.createGroup, async ({ body }, call) => {
    await createGroup(core, body, call);
    return body;
  });
  mount(operations.getGroup, async ({ params }) => getGroup(core, params.name));
  mount(operations.editGroup, ({ params, body }, call) => editGroup(core, params.name, body, call));
  mount(operations.listTools, ({ query }, { isVisible }) =>
    listToolCosts(
      core,
      { group: query.group, isVisible: (name) => isVisible('Workload', name) },
      metaListingTokens(),
    ),
  );
  mount(operations.deleteGroup, ({ params, query }) =>
    deleteGroup(core, params.name, query['with-workloads'] === true ? 'delete-workloads' : 'move-workloads'),
  );
  mount(operations.listClients, async () => clients.list());
  mount(operations.previewClient, ({ params, query }) =>
    clients.preview(params.name, query.group ?? defaultGroup),
  );
  mount(operations.createClient, async ({ body }) => {
    const chosen = body.groups?.length ? body.groups : [defaultGroup];
    await clients.register([body.name], chosen);
    return { name: body.name, groups: chosen };
  });
  mount(operations.deleteClient, ({ params }) => clients.unregister([params.name], []));
  mount(operations.deleteClientFromGroup, ({ params }) => clients.unregister([params.name], [params.group]));
  mount(operations.registerClients, async ({ body }) => {
    await clients.register(body.names, body.groups ?? []);
    return body.names.map((name) => ({ name }));
  });
  mount(operations.unregisterClients, ({ body }) => clients.unregister(body.names, body.groups ?? []));
  mount(operations.discoverClients, async () => ({ clients: await clients.discover() }));
  mount(operations.listUnmanagedServers, () => unmanagedServers({ clients }));
  mountAdoptions(mount, Adoptions.of(core, process.env));
  mountProjects(mount, Projects.of(core));
}

function mountRegistry(mount: Mount, { registry }: Core): void {
  mount(operations.listRegistries, async () => ({ registries: [await registry.info()] }));
  mount(operations.addRegistry, async () => {
    throw notImplemented('registries cannot be added', {
      hint: `change the source of the registry ${defaultRegistry} instead`,
    });
  });
  mount(operations.getRegistry, async ({ params }) => the(registry, params.name).details());
  mount(operations.updateRegistry, ({ params, body }, { signal }) =>
    the(registry, params.name).update(body, signal),
  );
  mount(operations.deleteRegistry, async ({ params }) => {
    the(registry, params.name);
    throw invalid(`the registry ${defaultRegistry} cannot be removed`);
  });
  mount(operations.listRegistryServers, async ({ params, query }) =>
    the(registry, params.name).servers(query),
  );
  mount(operations.getRegistryServer, async ({ params }) =>
    the(registry, params.name).server(params.serverName),
  );
}

/** The registry of this name: there is one. */
function the<Store>(registry: Store, name: string): Store {
  if (name !== defaultRegistry)
    throw notFound(`registry ${name} not found`, { hint: `the only registry is ${defaultRegistry}` });
  return registry;
}

function mountSecrets(mount: Mount, { secrets }: Core): void {
  mount(operations.setupSecrets, ({ body }) => secrets.setup(body));
  mount(operations.getSecretsProvider, async () => secrets.describe());
  mount(operations.listSecrets, async () => ({ keys: await secrets.list() }));
  mount(operations.createSecret, ({ body }) => secrets.create(body.key, body.value));
  mount(operations.updateSecret, ({ params, body }) => secrets.update(params.key, body.value));
  mount(operations.deleteSecret, ({ params }) => secrets.remove(params.key));
  mount(operations.forgetSecretsKey, () => secrets.forgetKey());
}

function mountSettings(mount: Mount, core: Core): void {
  mount(operations.listSettings, async () => ({ settings: listSettings(core) }));
  mount(operations.getSetting, async ({ params }) => getSetting(core, params.name));
  mount(operations.changeSetting, ({ params, body }, { signal }) =>
    changeSetting(core, params.name, body.value, signal),
  );
  mount(operations.unsetSetting, ({ params }, { signal }) => unsetSetting(core, params.name, signal));
}

/** An audit record without the bodies of a workload that the caller cannot read. */
function withVisibleBodies<Numbered extends NumberedAuditRecord>(
  numbered: Numbered,
  isVisible: IsVisible,
): Numbered {
  const { data, ...record } = numbered.record;
  if (data === undefined || isVisible('Bodies', record.workload ?? '')) return numbered;
  return { ...numbered, record };
}

async function* withVisible(
  written: AsyncIterable<{ id: string; event: AuditWritten }>,
  isVisible: IsVisible,
): AsyncGenerator<{ id: string; event: AuditWritten }, void, void> {
  for await (const { id, event } of written) yield { id, event: withVisibleBodies(event, isVisible) };
}

function mountAudit(mount: Mount, { audit }: Core): void {
  mount(operations.listAudit, async ({ query: { since, until, limit, ...query } }, { isVisible }) => {
    const records = await audit.list({ ...query, since: msOf(since), until: msOf(until) }, limit);
    return { records: records.map((record) => withVisibleBodies(record, isVisible)) };
  });
  mount(operations.watchAudit, async ({ query: { since, ...query }, headers }, { signal, isVisible }) => {
    const written = await audit.watch({ ...query, since: msOf(since) }, headers['last-event-id'], signal);
    return withVisible(written, isVisible);
  });
  mount(operations.verifyAudit, (_input, { signal }) => audit.verify(signal));
}

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

/** A workload that is starting, and who wants to know how that goes. */
function followed(core: Core, result: CreatedWorkload): Followed<CreatedWorkload> {
  return {
    result,
    follow: ({ report, signal }) => core.workloads.require(result.name).follow(report, signal),
  };
}

function accepted({ follow }: Accepted): Followed<void> {
  return { result: undefined, follow: ({ report, signal }) => follow(report, signal) };
}

/** The methods of a path, which distinguish a wrong method from a path that does not exist. */
function methodsOf(path: string): string[] {
  const here = Object.values<Operation>(operations).filter(
    (operation) =>
      operation.socketOnly !== true &&
      pathsOf(operation).some((route) => new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`).test(path)),
  );
  return [...new Set(here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}
