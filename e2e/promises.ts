/** Where the product has to get before a promise can be kept. */
export type Awaited =
  'every revision' | 'the whole command line' | 'the site' | 'the web interface' | 'the operator';

export interface Promised {
  /** The section of the specification that says so, or another source. */
  source: string;
  text: string;
  /** Present while nothing proves it yet, because that part of the product is still to come. */
  awaits?: Awaited;
}

/**
 * What the product promises: an entry for each route, state, rule and message. A test that proves one says so
 * with `proves`; `npm run check` finds promises that nobody proves, and those that are proved sooner than said.
 */
export const promises = {
  // --- the local API ---
  'api.base': { source: 'spec 7', text: 'Operations stand under /api/v1beta.' },
  'api.health': { source: 'spec 7', text: 'GET /health answers 204 when servers can run.' },
  'api.health.none': { source: 'spec 7', text: 'GET /health says what is missing when servers cannot run.' },
  'api.version': { source: 'spec 7', text: 'GET /version returns the version.' },
  'api.openapi': { source: 'spec 1, 7', text: 'GET /api/openapi.json is an OpenAPI 3.1 document.' },
  'api.default-address': { source: 'spec 1, 9', text: 'The API listens on localhost port 8080 by default.' },
  'api.errors.plain-text': { source: 'spec 8', text: 'The bodies of errors are plain strings.' },
  'api.errors.400': { source: 'spec 8', text: 'A bad request is answered with 400.' },
  'api.errors.404': { source: 'spec 8', text: 'A workload that does not exist is answered with 404.' },
  'api.errors.405': { source: 'spec 8', text: 'A method that is not allowed is answered with 405.' },
  'api.errors.409': { source: 'spec 8', text: 'A workload that exists already is answered with 409.' },
  'api.errors.500': {
    source: 'spec 8',
    text: 'Only a fault of the hive is answered with 500, and nothing of it is told.',
  },
  'api.host-origin': {
    source: 'issue: thin slice',
    text: 'Requests for foreign hosts and from foreign origins are refused.',
  },
  'api.json-only': { source: 'issue: thin slice', text: 'Writes are only taken as application/json.' },
  'api.workloads.list': {
    source: 'spec 7',
    text: 'GET /workloads lists running workloads, all of them with all=true.',
  },
  'api.workloads.group': { source: 'spec 7', text: 'GET /workloads?group= lists the workloads of a group.' },
  'api.workloads.create': {
    source: 'spec 7',
    text: 'POST /workloads creates a workload and answers 201 with its name and port.',
  },
  'api.workloads.get': { source: 'spec 3, 7', text: 'GET /workloads/{name} returns the workload.' },
  'api.workloads.fields': {
    source: 'spec 3',
    text: 'A workload has the fields of the specification; tool_type is always mcp.',
  },
  'api.workloads.status': { source: 'spec 7', text: 'GET /workloads/{name}/status returns the status.' },
  'api.workloads.logs': {
    source: 'spec 7, 9',
    text: 'GET /workloads/{name}/logs returns at most 100 lines of text.',
  },
  'api.workloads.stop': {
    source: 'spec 4, 7',
    text: 'POST /workloads/{name}/stop answers 202 and finishes by itself.',
  },
  'api.workloads.restart': {
    source: 'spec 4, 7',
    text: 'POST /workloads/{name}/restart answers 202 and finishes by itself.',
  },
  'api.workloads.delete': {
    source: 'spec 4, 7',
    text: 'DELETE /workloads/{name} answers 202 and finishes by itself.',
  },
  'api.workloads.edit': {
    source: 'spec 7',
    text: 'POST /workloads/{name}/edit updates a workload.',
  },
  'api.workloads.export': {
    source: 'spec 7',
    text: 'GET /workloads/{name}/export returns the run config.',
  },
  'api.workloads.proxy-logs': {
    source: 'spec 7',
    text: 'GET /workloads/{name}/proxy-logs returns text.',
  },
  'api.workloads.bulk': {
    source: 'spec 5, 7',
    text: 'Bulk operations take names or a group, never both.',
  },
  'api.workloads.remote-stdio': {
    source: 'spec 5',
    text: 'Remote servers do not support the stdio transport.',
  },
  'api.clients': {
    source: 'spec 7',
    text: 'Client applications are listed, registered and removed.',
  },
  'api.discovery': {
    source: 'spec 7',
    text: 'GET /discovery/clients tells which clients are installed.',
  },
  'api.groups': {
    source: 'spec 7',
    text: 'Groups are listed, made, read and deleted.',
  },
  'api.registry': {
    source: 'spec 5, 7',
    text: 'The registry is read, and the default one updated.',
  },
  'api.secrets': {
    source: 'spec 5, 7',
    text: 'Secrets are set up, listed and changed where the provider can.',
  },
  'api.events': {
    source: 'issue: whole API',
    text: 'GET /events tells of every change, and goes on after the last one that was seen.',
  },
  // --- running servers ---
  'run.catalogued': { source: 'spec 1', text: 'A catalogued server runs by its name.' },
  'run.catalogue': { source: 'spec 1', text: 'The nine catalogued servers are there.' },
  'run.package.npx': { source: 'contract runtime 9', text: 'A server runs straight from its npm package.' },
  'run.package.uvx': {
    source: 'contract runtime 9',
    text: 'A server runs straight from its Python package.',
  },
  'run.package.go': { source: 'contract runtime 9', text: 'A server runs straight from its Go module.' },
  'run.package.missing-tool': {
    source: 'issue: main job',
    text: 'A missing tool chain is named, with what to do.',
  },
  'run.docker': { source: 'issue: main job', text: 'The same workload runs in a container.' },
  'run.sandbox.files': { source: 'spec 6', text: 'A server reads nothing that it was not granted.' },
  'run.sandbox.loopback': {
    source: 'architecture, trust boundary',
    text: 'A sandboxed server with a network reaches neither the hive nor the proxies of others.',
  },
  'run.mounts': {
    source: 'spec 3',
    text: 'Volumes are shared as HOST:CONTAINER, with :ro for reading only.',
  },
  'run.own-state': {
    source: 'architecture, trust boundary',
    text: 'No server is given the files of the hive itself.',
  },
  'run.client.current': {
    source: 'issue: main job',
    text: 'The current official client works with the URL of a workload.',
  },
  'run.client.previous': {
    source: 'issue: main job',
    text: 'The official client of the previous major version works, too.',
  },
  'transport.stdio': {
    source: 'spec 4',
    text: 'A stdio server is reached over streamable HTTP and over SSE.',
  },
  'transport.http': { source: 'spec 4', text: 'A server that speaks HTTP is reached through its proxy.' },
  'port.stable': {
    source: 'issue: transports',
    text: 'The port of a workload stays the same across restarts.',
  },
  // --- desired state ---
  'state.hive-killed': {
    source: 'issue: desired state',
    text: 'After a kill of the hive, the next one runs what should run; nothing is left over.',
  },
  'state.server-killed': {
    source: 'issue: desired state',
    text: 'A server that was killed runs again; pending calls get an error.',
  },
  'state.stopped-stays': {
    source: 'issue: desired state',
    text: 'A workload that was stopped stays stopped.',
  },
  'state.one-hive': { source: 'issue: desired state', text: 'Two hives never own one state directory.' },
  'state.set-aside': {
    source: 'issue: desired state',
    text: 'A run config that cannot be read is set aside, named, and harms nothing else.',
  },
  // --- bad input ---
  'bad.name': { source: 'issue: bad input', text: 'Names like ../x are refused with what is wrong.' },
  'bad.unknown-source': {
    source: 'issue: bad input',
    text: 'A source that does not exist is refused and leaves nothing behind.',
  },
  'bad.exits': {
    source: 'issue: bad input',
    text: 'A server that exits at once is reported with what it wrote.',
  },
  'bad.junk': { source: 'issue: bad input', text: 'Junk on standard output harms nothing.' },
  'bad.silent': { source: 'issue: bad input', text: 'A server that never answers initialize is reported.' },
  'bad.port': { source: 'issue: bad input', text: 'A port in use is reported.' },
  'bad.no-sandbox': {
    source: 'issue: bad input',
    text: 'Without a sandbox nothing runs, and it is said how to get one.',
  },
  'bad.unenforced': { source: 'house rules', text: 'What cannot be enforced yet is refused, never ignored.' },
  // --- the command line ---
  'cli.background-hive': {
    source: 'issue: CLI',
    text: 'thv starts a hive in the background when there is none.',
  },
  'cli.life-cycle': {
    source: 'issue: main job',
    text: 'run, list, logs, stop, restart and rm do what they say.',
  },
  'cli.runtime-check': {
    source: 'contract cli',
    text: 'thv runtime check tells the truth about the machine.',
  },
  'cli.version': { source: 'contract cli', text: 'thv version prints the version without a hive.' },
  'cli.errors': {
    source: 'contract cli',
    text: 'Failures say what was wrong on standard error and exit non-zero.',
  },
  'cli.commands': {
    source: 'spec 2',
    text: 'All commands of the specification exist.',
    awaits: 'the whole command line',
  },
  // --- the other faces ---
  'proxy.every-revision': {
    source: 'architecture, proxy',
    text: 'A client of any revision works with a server of any revision.',
    awaits: 'every revision',
  },
  'site.routes': { source: 'spec 2', text: 'Every route of the specification is there.', awaits: 'the site' },
  'site.behaviours': {
    source: 'spec 2, 4',
    text: 'Every behaviour of the interface is there.',
    awaits: 'the site',
  },
  'site.messages': {
    source: 'spec 8',
    text: 'Every message of the site stands as the specification quotes it.',
    awaits: 'the site',
  },
  'ui.served': {
    source: 'architecture, faces',
    text: 'The web interface is served at /ui/.',
    awaits: 'the web interface',
  },
  'operator.kinds': {
    source: 'contract operator',
    text: 'The six kinds of the operator are there.',
    awaits: 'the operator',
  },
} satisfies Record<string, Promised>;

/** Says which promises the test around it proves. The check reads these calls, the test needs nothing of them. */
export function proves(...ids: (keyof typeof promises)[]): void {
  void ids;
}
