import { connect } from 'node:net';
import type { AdoptionPlan, AdoptionScope } from '@toolhive/contract/adoption';
import { replaceCredentials, urlWithoutCredentials } from '@toolhive/contract/credential';
import { ThvError, invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { entryTarget } from '@toolhive/clients/entry';
import { findPlaces, readPlace } from '@toolhive/clients/places';
import type { Place } from '@toolhive/clients/places';
import { readClientDocument } from '@toolhive/pasted/client-document';
import { readClientEntry } from '@toolhive/pasted/client-entry';
import { readProjectFile } from '@toolhive/pasted/project-file';
import type { EntryFrom } from '@toolhive/pasted/client-entry';
import { readEntry } from '@toolhive/pasted/entry-fields';
import { isDisabled } from '@toolhive/pasted/entry-state';
import { grantOf, localServices, unreachableServices } from '@toolhive/pasted/local-services';
import { statsOf } from '@toolhive/pasted/stats-of';
import { aloneNote, outsidePaths } from '@toolhive/pasted/outside-paths';
import { usualSearchPath } from '@toolhive/pasted/search-path';
import canonicalize from 'canonicalize';
import { importCommand } from './hints.ts';
import { withMounts } from './mounts.ts';

/** An entry that leads to a server without ToolHive. */
export interface FoundEntry {
  place: Place;
  name: string;
  value: Readonly<Record<string, unknown>>;
}

/** A server, with all entries that lead to it. */
export interface FoundServer {
  entries: FoundEntry[];
  /** Identifies the server: two entries with the same content lead to the same server. Contains credentials. */
  content: string;
  command: string[] | undefined;
  url: string | undefined;
  notes: string[];
  /** The request without a name. Undefined if there is a problem. */
  request: CreateWorkload | undefined;
  failure: ThvError | undefined;
}

export interface ScanOptions extends AdoptionScope {
  home: string;
  env: NodeJS.ProcessEnv;
  userFiles: (client: Place['application']['id']) => readonly string[];
  /** Whether an entry leads to a workload. */
  isOwn: (target: string) => boolean;
}

/** Finds the servers that clients run themselves. A problem with one file or entry does not affect the others. */
export async function scan(
  options: ScanOptions,
): Promise<{ servers: FoundServer[]; problems: AdoptionPlan['problems'] }> {
  const { clients, projects = [], userFiles, isOwn } = options;
  const found = new Map<string, FoundServer>();
  const problems: AdoptionPlan['problems'] = [];
  for (const place of await findPlaces({ userFiles, projects })) {
    const { application, path } = place;
    if (clients !== undefined && !clients.includes(application.id)) continue;
    try {
      const { text, entries } = await readPlace(place);
      const document = documentIn(text, path);
      for (const [name, value] of entries) {
        const target = entryTarget(application, value);
        if (typeof value !== 'object' || value === null || (target !== undefined && isOwn(target))) continue;
        const entry: FoundEntry = { place, name, value: value as FoundEntry['value'] };
        const server = await readServer(entry, document, options);
        if (server === undefined) continue;
        const known = found.get(server.content);
        if (known === undefined) found.set(server.content, server);
        else known.entries.push(entry);
      }
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      problems.push({ client_type: application.id, path, problem: thrown.message });
    }
  }
  return { servers: [...found.values()], problems };
}

type Beside = Pick<ReturnType<typeof readClientDocument>, 'inputs' | 'isOff'>;

/** The facts beside the entries: the questions of Visual Studio Code, and the servers that Gemini CLI turns off. */
function documentIn(text: string, path: string): Beside {
  try {
    return readClientDocument(text, path);
  } catch {
    return { inputs: new Map(), isOff: () => false }; // a file without servers in the usual sections
  }
}

/** Undefined for entries that start and reach nothing, such as built-in extensions. */
async function readServer(
  entry: FoundEntry,
  { inputs, isOff }: Beside,
  { home, env, search_path: path, local_ports: ports = [] }: ScanOptions,
): Promise<FoundServer | undefined> {
  const { place, name, value } = entry;
  const own = JSON.stringify([place.path, place.application.pointer, name]);
  const base = {
    entries: [entry],
    content: own,
    command: undefined,
    url: undefined,
    notes: [],
    request: undefined,
  };
  try {
    const { command = [], args = [], url } = readEntry(name, value);
    const words = [...(Array.isArray(command) ? command : [command]), ...args].filter((word) => word !== '');
    if (words.length === 0 && url === undefined) return undefined;
    const shown = {
      ...base,
      command: words.length > 0 ? replaceCredentials(words, () => '***') : undefined,
      url: url === undefined ? undefined : urlWithoutCredentials(url),
    };
    try {
      if (isDisabled(value) || isOff(name, place.application.pointer)) throw invalid('it is disabled');
      const from: EntryFrom = {
        env: path === undefined ? env : { ...env, PATH: path },
        inputs,
        directory: place.directory,
        searchPath: usualSearchPath(env['PATH']),
        // Another server may have put a pipe or a device there.
        readFile: async (file) => readProjectFile(file),
      };
      // A project can come from others, and must not use the user's variables, files, and programs.
      const { request, notes, needs } = await readClientEntry(
        { name, workload: 'server', notes: [], entry: value },
        place.isShared ? { ...from, env: {}, searchPath: undefined, readFile: refuseToRead } : from,
      );
      const missing = needs.filter(({ required }) => required).map((need) => need.name);
      if (missing.length > 0) throw missingValues(missing, entry);
      const { name: _name, ...unnamed } = withMounts(request, {
        home,
        directory: place.directory,
        isShared: place.isShared,
      });
      const granted = place.isShared ? unnamed : withPorts(unnamed, ports);
      if (!place.isShared) await refuseLocalServices(granted);
      const unreachable = [
        ...lostFilesOf(unnamed, request, { home, directory: place.directory }),
        ...unreachableServices(granted),
      ];
      return {
        ...shown,
        notes: [...notes, ...unreachable],
        request: granted,
        failure: undefined,
        content: canonicalize(unnamed) ?? own,
      };
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      return { ...shown, failure: thrown };
    }
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    return { ...base, failure: thrown };
  }
}

/** The request with the local ports that the user has allowed, if the configuration names them. */
function withPorts(request: CreateWorkload, allowed: readonly number[]): CreateWorkload {
  const named = localServices(request).flatMap(({ port }) => port ?? []);
  const ports = [...new Set(named)].filter((port) => allowed.includes(port));
  return ports.length === 0 ? request : { ...request, local_ports: ports, accepted_risks: ['local-ports'] };
}

/** Throws `unsupported` if a server uses a service that runs on this machine now, which works only without isolation. */
async function refuseLocalServices(request: CreateWorkload): Promise<void> {
  for (const service of localServices(request).slice(0, maxAsked)) {
    const { address, port } = service;
    if (port === undefined || !(await isListening(port))) continue;
    throw new ThvError(
      'unsupported',
      `it uses ${address} of this machine, which an isolated server cannot reach`,
      { hint: `if the server may use it, ${grantOf([service])}` },
    );
  }
}

/** How long a local service gets to accept a connection. */
const connectMs = 1_000;
/** How many services of one entry are looked for. */
const maxAsked = 20;

async function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port, timeout: connectMs });
  socket.once('connect', () => resolve(true));
  socket.once('timeout', () => resolve(false));
  socket.on('error', () => resolve(false));
  const isThere = await promise;
  socket.destroy();
  return isThere;
}

/** Notes about files that a server would create, or could not replace. Only paths that exist are granted. */
function lostFilesOf(
  request: CreateWorkload,
  before: CreateWorkload,
  base: { home: string; directory: string | undefined },
): string[] {
  const created = [...outsidePaths(request, base).values()].filter(({ isNew }) => isNew);
  const named = new Set([...outsidePaths(before, base).values()].map(({ path }) => path));
  const alone = [...named].filter((path) => request.volumes?.includes(`${path}:${path}`) && isFile(path));
  return [
    ...created.map(
      ({ path }) =>
        `the server cannot create ${path} on this machine, and its changes would be lost. To keep the file there, create it before the adoption`,
    ),
    ...alone.map(aloneNote),
  ];
}

const isFile = (path: string): boolean => statsOf(path)?.isFile() === true;

function refuseToRead(path: string): Promise<never> {
  const hint = 'to use the file, run thv import with the configuration file';
  throw invalid(`the configuration of the project names the file ${path}`, { hint });
}

function missingValues(names: readonly string[], entry: FoundEntry): ThvError {
  return invalid(`the configuration has no value for ${names.join(', ')}`, {
    hint: `run ${importCommand(entry)}, which asks for the ${names.length === 1 ? 'value' : 'values'}`,
  });
}
