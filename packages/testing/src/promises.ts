/** Where the product has to get before a promise can be kept. */
export type Awaited = 'every revision';

export interface Promised {
  /** The section of the specification that says so, or another source. */
  source: string;
  text: string;
  /** Present while nothing proves it yet, because that part of the product is still to come. */
  awaits?: Awaited;
}

/**
 * What the product promises: an entry for each route, state, rule and message. A test that proves one says so
 * with `proves`; `npm run check` finds promises without a proving test, and proved promises that still name a reason to wait.
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
    text: 'Only a fault of the daemon is answered with 500, and nothing of it is told.',
  },
  'api.host-origin': {
    source: 'issue: thin slice',
    text: 'Requests for foreign hosts and from foreign origins are refused.',
  },
  'api.json-only': { source: 'issue: thin slice', text: 'Bodies are only taken as application/json.' },
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
  'run.sessions.auto': {
    source: 'issue: processes',
    text: 'Sessions of new workloads share a process if the server is known to keep nothing for them. Earlier workloads keep separate processes.',
  },
  'run.sessions.reason': {
    source: 'issue: processes',
    text: 'A workload says which sessions share processes, and why.',
  },
  'run.sessions.learned': {
    source: 'issue: processes',
    text: 'A server that keeps something for a session has separate processes from then on, until the workload is removed or the server has another version.',
  },
  'run.local.directory': {
    source: 'issue: paste',
    text: 'A server runs from a directory with a package that is not published.',
  },
  'run.bundle': {
    source: 'issue: bundles',
    text: 'thv run FILE.mcpb runs a bundle isolated. Only values that the user gives grant access to folders.',
  },
  'bundle.pack': {
    source: 'issue: bundles',
    text: 'thv pack and thv export --format mcpb write bundles that the official validation accepts.',
  },
  'run.local.script': {
    source: 'issue: paste',
    text: 'A server runs from a script, with its current content.',
  },
  'run.local.archive': {
    source: 'issue: paste',
    text: 'A server runs from a wheel or an archive of npm pack.',
  },
  'run.local.refused': {
    source: 'architecture, trust boundary',
    text: 'A path with a home directory or files of ToolHive in it is not copied.',
  },
  'run.package.missing-tool': {
    source: 'issue: main job',
    text: 'A missing tool chain is named, with what to do.',
  },
  'run.docker': { source: 'issue: main job', text: 'The same workload runs in a container.' },
  'run.sandbox.files': { source: 'spec 6', text: 'A server reads nothing that it was not granted.' },
  'run.sandbox.loopback': {
    source: 'architecture, trust boundary',
    text: 'A sandboxed server with a network reaches neither the daemon nor the proxies of others.',
  },
  'run.mounts': {
    source: 'spec 3',
    text: 'Volumes are shared as HOST:CONTAINER, with :ro for reading only.',
  },
  'run.own-state': {
    source: 'architecture, trust boundary',
    text: 'No server is given the files of the daemon itself.',
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
  'state.daemon-killed': {
    source: 'issue: desired state',
    text: 'After a kill of the daemon, the next one runs what should run; nothing is left over.',
  },
  'state.service': {
    source: 'issue: service',
    text: 'A daemon that is installed as a service (systemd) runs again after a crash and after a reboot.',
  },
  'state.server-killed': {
    source: 'issue: desired state',
    text: 'A server that was killed runs again; pending calls get an error.',
  },
  'state.stopped-stays': {
    source: 'issue: desired state',
    text: 'A workload that was stopped stays stopped.',
  },
  'state.one-daemon': { source: 'issue: desired state', text: 'Two daemons never own one state directory.' },
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
  'bad.noise': { source: 'issue: bad input', text: 'Noise on standard output harms nothing.' },
  'bad.silent': { source: 'issue: bad input', text: 'A server that never answers initialize is reported.' },
  'bad.port': { source: 'issue: bad input', text: 'A port in use is reported.' },
  'bad.no-sandbox': {
    source: 'issue: bad input',
    text: 'Without a sandbox nothing runs, and it is said how to get one.',
  },
  'bad.unenforced': { source: 'house rules', text: 'What cannot be enforced yet is refused, never ignored.' },
  // --- the command line ---
  'cli.background-daemon.end': {
    source: 'issue: first try',
    text: 'A background daemon ends when its state directory is removed, and when nothing runs and nobody asks.',
  },
  'cli.limits-once': {
    source: 'issue: first try',
    text: 'What holds for all workloads of this machine is said with the first one, and not in lists.',
  },
  'cli.background-daemon': {
    source: 'issue: CLI',
    text: 'thv starts a daemon in the background when there is none.',
  },
  'cli.life-cycle': {
    source: 'issue: main job',
    text: 'run, list, logs, stop, restart and rm do what they say.',
  },
  'cli.runtime-check': {
    source: 'contract cli',
    text: 'thv runtime check tells the truth about the machine.',
  },
  'cli.json': {
    source: 'issue 5',
    text: 'Every command prints its result as JSON with --format json, or says why it does not.',
  },
  'cli.version': { source: 'contract cli', text: 'thv version prints the version without a daemon.' },
  'cli.errors': {
    source: 'contract cli',
    text: 'Failures say what was wrong on standard error and exit non-zero.',
  },
  'registry.tools': {
    source: 'issue 5',
    text: 'An entry of the built-in registry names the tools that its server has.',
  },
  'cli.registry': {
    source: 'contract cli',
    text: 'thv registry and thv search show the registry, and nothing in it does anything to a terminal.',
  },
  'cli.groups': {
    source: 'contract cli',
    text: 'Groups are made, listed, removed and run from the registry; no workload is lost without a question.',
  },
  'cli.clients': {
    source: 'contract cli',
    text: 'Client applications are registered and removed, on the screen with a keyboard alone, too.',
  },
  'cli.secrets': {
    source: 'contract cli',
    text: 'Secrets are typed unseen or come from standard input; what fails exits non-zero.',
  },
  'cli.secrets.value': {
    source: 'decision 21',
    text: 'The value of a secret is told over the socket of the daemon only.',
  },
  'cli.settings': {
    source: 'contract cli',
    text: 'Every setting of the table is told, set and taken back.',
  },
  'cli.ca-cert': {
    source: 'contract cli, runtime 9',
    text: 'The certificate authority of the settings, or of --ca-cert, is trusted while a package is made ready.',
  },
  'cli.mcp-list': {
    source: 'contract cli',
    text: 'thv mcp list shows what any server has, and nothing in it does anything to a terminal.',
  },
  'cli.mcp-call': {
    source: 'issue: first try',
    text: 'thv mcp call calls a tool, tells of its progress, and says by its exit code whether it failed.',
  },
  'cli.paste': {
    source: 'issue: first try',
    text: 'A command of npx, uvx, or docker that is pasted after thv run runs isolated, or is answered with what to do.',
  },
  'cli.paste.credentials': {
    source: 'issue: first try',
    text: 'Credentials in what is pasted are stored as secrets if the user wants that, and never shown.',
  },
  'cli.import': {
    source: 'issue: first try',
    text: 'thv import runs the servers of a client configuration, and does not change that.',
  },
  'cli.export.mcp-json': {
    source: 'issue: first try',
    text: 'What thv export writes as mcpServers JSON, thv import runs again.',
  },
  'cli.mcp-serve': {
    source: 'contract cli',
    text: 'thv mcp serve offers the control of the product as MCP tools.',
  },
  'cli.proxy': {
    source: 'contract cli',
    text: 'thv proxy stands in front of any server, and passes nothing on that a client shows of itself.',
  },
  'cli.proxy.stdio': {
    source: 'contract cli',
    text: 'thv proxy stdio lets a client that only speaks stdio use a workload.',
  },
  'cli.proxy.tunnel': {
    source: 'contract cli',
    text: 'thv proxy tunnel gives a server a public URL for as long as it runs.',
  },
  'cli.commands': {
    source: 'spec 2',
    text: 'All commands of the specification exist.',
  },
  'cli.flags': {
    source: 'contract cli',
    text: 'Every flag of the original exists, with its kind and its default; none is ignored.',
  },
  'cli.run.needs': {
    source: 'contract cli, issue: CLI',
    text: 'What a server needs is asked for at a terminal and named elsewhere.',
  },
  'cli.run.foreground': {
    source: 'contract cli',
    text: 'thv run in the foreground, and one that is interrupted, leave nothing behind.',
  },
  'cli.run.from-config': {
    source: 'contract cli',
    text: 'What was exported is run again as it was.',
  },
  'cli.several': {
    source: 'contract cli',
    text: 'Several workloads are stopped, started and removed at once; one that fails keeps no other from it.',
  },
  'cli.list': {
    source: 'contract cli',
    text: 'Lists are filtered by label and group, told in three formats, and fit the terminal.',
  },
  'cli.logs': { source: 'contract cli', text: 'Logs are shown, followed and pruned.' },
  'cli.export.kubernetes': {
    source: 'contract cli, runtime 4',
    text: 'A workload is exported for Kubernetes without its secrets, and it says what that leaves to do.',
  },
  'cli.build': {
    source: 'contract cli, runtime 9',
    text: 'An image is made of a package, or its recipe told.',
  },
  'cli.inspector': {
    source: 'contract cli, runtime 18',
    text: 'The inspector opens for a workload, on loopback and with a token, and ends with the command.',
  },
  'distribution.npm': {
    source: 'issue: CLI',
    text: 'The npm package toolhive is all that is needed beside Node.js.',
  },
  'distribution.executable': {
    source: 'issue: CLI',
    text: 'The single executable does its work where there is no Node.js.',
  },
  // --- the other faces ---
  'proxy.every-revision': {
    source: 'architecture, proxy',
    text: 'A client of any revision works with a server of any revision.',
    awaits: 'every revision',
  },
  // --- the documentation site ---
  'site.routes': {
    source: 'spec 2',
    text: 'Every route of the specification is there, with the one sidebar where it is documentation.',
  },
  'site.not-found': {
    source: 'spec 2, 8',
    text: 'Any other path shows a page that says that there is none.',
  },
  'site.addresses': {
    source: 'spec 2, 9',
    text: 'Paths that end in .html or /index.html, or in a slash, are the page that they name.',
  },
  'site.scrolling': {
    source: 'spec 2',
    text: 'Another path or anchor scrolls to the anchor or the top; another query alone does not.',
  },
  'site.loading': {
    source: 'spec 2, 9',
    text: 'A part of a page that takes longer than 200 ms shows a spinner.',
  },
  'site.preload-failure': {
    source: 'spec 2',
    text: 'A part of the next page that cannot be had makes the whole page load anew.',
  },
  'site.prefetch': {
    source: 'spec 2',
    text: 'Pages are loaded ahead, but not on slow connections or where data is to be saved.',
  },
  'site.progress': {
    source: 'spec 4, 9',
    text: 'The bar of progress starts after 200 ms, moves by its constants, has no spinner and ends with the page.',
  },
  'site.navbar.links': {
    source: 'spec 2',
    text: 'The menus, icons and logo at the top lead where the specification says.',
  },
  'site.navbar.items': {
    source: 'spec 2',
    text: 'The navbar takes every type of item, in its left and right group.',
  },
  'site.navbar.alternates': {
    source: 'spec 2',
    text: 'Versions and languages lead to the same page there, or to the main page of a version.',
  },
  'site.navbar.hiding': {
    source: 'spec 4',
    text: 'A navbar that hides goes away while scrolling down and comes back as the specification says.',
  },
  'site.navbar.mobile': {
    source: 'spec 2, 4, 9',
    text: 'Up to 996 pixels there is a menu to open, with a way back to the main menu; it closes above.',
  },
  'site.footer': { source: 'spec 2, 9', text: 'The footer has the links to networks and the year 2025.' },
  'site.skip-link': { source: 'spec 2', text: 'Every page begins with a link to its content.' },
  'site.sidebar': {
    source: 'spec 1, 2',
    text: 'The sidebar cannot be hidden, keeps categories open and is 300 pixels wide beside the API reference.',
  },
  'site.contents': {
    source: 'spec 1, 2, 9',
    text: 'Pages have breadcrumbs and a table of contents of levels 2 to 3.',
  },
  'site.colour-mode.choice': {
    source: 'spec 4',
    text: 'The choice of light, dark or system is kept, and is the same in every tab.',
  },
  'site.colour-mode.system': {
    source: 'spec 4',
    text: 'The system choice follows the system while the page is open.',
  },
  'site.colour-mode.two': {
    source: 'spec 4, 9',
    text: 'Where the system has no say, the mode is dark first and toggles between two.',
  },
  'site.colour-mode.fixed': {
    source: 'spec 4',
    text: 'Without a switch, the choice that was kept is removed.',
  },
  'site.announcement': {
    source: 'spec 4, 7',
    text: 'An announcement stays closed until there is another one.',
  },
  'site.version-preference': { source: 'spec 4, 7', text: 'The version that a reader chooses is kept.' },
  'site.search.opening': {
    source: 'spec 4, 9',
    text: 'The search opens by click, touch, Ctrl/Cmd+K and slash, and closes with Escape or cancel.',
  },
  'site.search.escape': { source: 'spec 4', text: 'Escape leaves the questions for keywords first.' },
  'site.search.page': {
    source: 'spec 2, 9',
    text: 'The search page takes its query from the parameter q, and the modal leads to all results.',
  },
  'site.search.service': {
    source: 'spec 1, 7',
    text: 'A hosted index is connected to ahead and asked with filters of language and version.',
  },
  'site.analytics': {
    source: 'spec 7, 9',
    text: 'The script that counts is deferred, from this site, and another in development.',
  },
  'site.tag-manager': {
    source: 'spec 1',
    text: 'The tag manager loads its container where one is named, and only there.',
  },
  'site.feedback': {
    source: 'spec 1',
    text: 'The feedback widget is a dark button at the bottom right, where it is wanted.',
  },
  'site.diagrams': { source: 'spec 9', text: 'Diagrams are neutral in light and dark in dark.' },
  'site.language': {
    source: 'spec 1, 9',
    text: 'The site is in English, left to right, made with Docusaurus 3.9.',
  },
  'site.config.version': {
    source: 'spec 5',
    text: 'A version dropdown naming an unknown version is an error.',
  },
  'site.config.sidebar': { source: 'spec 5', text: 'A sidebar item without a link target is an error.' },
  'site.config.item': { source: 'spec 5', text: 'An unknown type of navbar item is an error.' },
  'site.config.colour-mode': { source: 'spec 5', text: 'An unexpected colour mode is an error.' },
  'site.message.crash': {
    source: 'spec 8',
    text: 'A page or route that crashes says so, with its error and a button to try again.',
  },
  'site.message.load-failure': {
    source: 'spec 8',
    text: 'A part of a page that fails to load shows the error and a Retry button.',
  },
  'site.message.base-url': { source: 'spec 8', text: 'A wrong base URL is told in a banner.' },
  'site.message.search-failure': {
    source: 'spec 8',
    text: 'A search that fails says so, and what to check.',
  },
  'site.message.no-results': {
    source: 'spec 8',
    text: 'A search without results suggests others and lets the reader tell.',
  },
  'site.message.storage': {
    source: 'spec 8',
    text: 'Storage that fails is noted in the console, and reads as empty.',
  },
  'site.message.analytics': {
    source: 'spec 8',
    text: 'A counting script that fails is noted in the console, with advice.',
  },
  'site.message.providers': {
    source: 'spec 8',
    text: 'A hook outside its provider is an error that names the provider.',
  },
  'site.links.broken': { source: 'spec 8', text: 'Broken links and images of Markdown fail the build.' },
  'site.links.warned': {
    source: 'spec 8',
    text: 'Broken anchors, broken Markdown links and duplicate routes are warnings.',
  },
  // --- the security model ---
  'security.network.rules': {
    source: 'issue: documentation',
    text: 'A server in the sandbox reaches only the hosts and ports that its rules allow.',
  },
  'security.network.contained': {
    source: 'issue: faults',
    text: 'A fault that the bytes of one server cause ends at most this server. Its daemon and the others go on.',
  },
  'security.files.shared': {
    source: 'issue: open files',
    text: 'The clients and the server of one workload cannot use all files that the daemon can have open.',
  },
  'security.network.public-only': {
    source: 'issue: network access',
    text: 'A server with insecure_allow_all reaches every public host, and neither private addresses nor this machine.',
  },
  'security.mounts.replaced': {
    source: 'issue: documentation',
    text: 'A server that replaces a mounted directory by a symbolic link gets nothing of its target.',
  },
  'security.mounts.programs': {
    source: 'issue: documentation',
    text: 'The daemon runs no program from a directory that a server can write to.',
  },
  'security.mounts.read-only': {
    source: 'issue: documentation',
    text: 'A server cannot write to a mount that was granted for reading.',
  },
  'security.sandbox.privileges': {
    source: 'issue: documentation',
    text: 'A server in the sandbox cannot create namespaces or mounts.',
  },
  'security.sandbox.processes': {
    source: 'issue: documentation',
    text: 'A server in the sandbox sees only its own processes.',
  },
  'security.sandbox.sockets': {
    source: 'issue: documentation',
    text: 'A server in the sandbox cannot open sockets to the hypervisor.',
  },
  'security.hidden-files': {
    source: 'issue: documentation',
    text: 'Files that an ignore file hides are empty for the server under every path.',
  },
  'security.packages.scripts': {
    source: 'issue: documentation',
    text: 'The installation of a package in the sandbox runs none of its scripts.',
  },
  'security.images.build': {
    source: 'issue: documentation',
    text: 'An image build runs the scripts of a package as an unprivileged user in a container.',
  },
  'security.packages.images': {
    source: 'issue: supply chain',
    text: 'A package becomes an image only after its download was inspected, and its own code cannot change the record.',
  },
  'security.packages.provenance': {
    source: 'issue: documentation',
    text: 'A package with an untrusted attestation does not run.',
  },
  'security.tools.pinned': {
    source: 'issue: documentation',
    text: 'With tool pinning, a changed tool waits for approval.',
  },
  'security.access.tokens': {
    source: 'issue: documentation',
    text: 'Only valid tokens for this resource are accepted.',
  },
  'security.access.spellings': {
    source: 'issue: authorization',
    text: 'A policy decides about every spelling of an argument and of a resource.',
  },
  'security.meta.names': {
    source: 'issue: meta server',
    text: 'A qualified tool name leads to its server or to none.',
  },
  'security.browser.pages': {
    source: 'security policy',
    text: 'A page that a server sends to a browser runs no scripts.',
  },
  'security.terminal': {
    source: 'issue: terminal',
    text: 'Text of servers, packages, and registries does not control a terminal.',
  },
  'security.network.none': {
    source: 'issue: documentation',
    text: 'A server without network access opens no connection.',
  },
  'security.secrets.inspect': {
    source: 'issue: documentation',
    text: 'The container engine does not show the secrets of a server.',
  },
  'security.container.hardened': {
    source: 'issue: documentation',
    text: 'A container has no capabilities, no new privileges, and a read-only file system.',
  },
  'security.limits': {
    source: 'issue: documentation',
    text: 'A server that uses too much memory ends, and its status names the limit.',
  },
  'security.consent': {
    source: 'issue: documentation',
    text: 'No file grants dangerous access without the consent of the user.',
  },
  'security.trust.identity': {
    source: 'issue: attacks',
    text: 'What a user has approved for a workload never applies to a later workload with the same name.',
  },
  'security.addresses.local': {
    source: 'issue: attacks',
    text: 'No registry and no imported file leads ToolHive to a link-local address or to the metadata service of a cloud.',
  },
  // --- other interfaces ---
  'ui.served': {
    source: 'architecture, faces',
    text: 'The web interface is served at /ui/.',
  },
  'ui.apps': {
    source: 'issue: MCP Apps',
    text: 'An MCP App in the web UI reaches neither the API nor other hosts, and acts only after the user has allowed each action.',
  },
  'operator.kinds': {
    source: 'contract operator',
    text: 'The six kinds of the operator are there.',
  },
} satisfies Record<string, Promised>;

/** Says which promises the test around it proves. The check reads these calls, the test needs nothing of them. */
export function proves(...ids: (keyof typeof promises)[]): void {
  void ids;
}
