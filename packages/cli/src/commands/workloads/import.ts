import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { normalize, resolve } from 'node:path';
import type { Client } from '@toolhive/contract/client';
import { chosenClientPath, clientApplications } from '@toolhive/contract/client-application';
import type { ClientName } from '@toolhive/contract/client-application';
import { ThvError, invalid, notFound } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import type { CreateWorkload, Workload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { ask, canAsk } from '../../prompt.ts';
import { readStandardInput, readText, readTextInside } from '../../read-text.ts';
import { readClientDocument } from '@toolhive/pasted/client-document';
import type { ClientDocument, RawEntry } from '@toolhive/pasted/client-document';
import { readClientEntry } from '@toolhive/pasted/client-entry';
import type { ClientServer, EntryFrom } from '@toolhive/pasted/client-entry';
import { isDisabled } from '@toolhive/pasted/entry-state';
import { optionalNotes } from '@toolhive/pasted/pasted';
import type { Need } from '@toolhive/pasted/pasted';
import { credentialWarning, withReferences, withStoredCredentials } from '../pasted/credentials.ts';
import { commandText } from '../pasted/run-command.ts';
import { unreachableServices } from '@toolhive/pasted/local-services';
import type { LocalService } from '@toolhive/pasted/local-services';
import { unreachablePaths } from './asked.ts';
import { forEach } from './many.ts';
import { projectOf } from './project-of.ts';
import { withNeeds } from './requirements.ts';
import { StoredSecrets } from './stored-secrets.ts';

/** Runs the servers of a client's configuration as workloads. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [source = '-', ...names],
    flags,
    out,
    signal,
  } = call;
  const { document, directory, isOwn } = await readSource(source, signal);
  const from: EntryFrom = {
    env: process.env,
    directory,
    inputs: document.inputs,
    readFile: (path) => (isOwn ? readText(path, 'envFile') : readTextInside(directory, path, 'envFile')),
  };
  const { withNames } = await import('@toolhive/pasted/import');
  const entries = chosen(await withNames(document.entries, from), names, source);
  const daemon = await call.client();
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true' } }, { signal });
  const isDry = flags.has('dry-run');
  // One after the other, because the user may be asked about each.
  const ready = new Map<string, Ready>();
  await using all = new AsyncDisposableStack();
  for (const entry of entries) {
    // A disabled server is imported if the user names it.
    const reason = skipReason(entry.entry, { workloads, isNamed: names.length > 0 });
    if (reason === undefined) {
      const secrets = all.use(new StoredSecrets(daemon, { out, signal }));
      ready.set(titleOf(entry, entries), await prepare(entry, from, { call, daemon, secrets, isDry, isOwn }));
    } else out.note(`skipped ${entry.name}: ${reason}`);
  }
  await forEach([...ready.keys()], { what: 'imported', out }, async (entryName) => {
    const found = ready.get(entryName);
    if (found === undefined) throw notFound(`entry ${entryName} not found`); // the names are its keys
    if ('failure' in found) throw explained(found.failure, ready.size);
    const { request, notes, secrets } = found;
    const unreachable = unreachableServices(request, (services) => grantAfterImport(request.name, services));
    for (const note of [...notes, ...unreachablePaths(request), ...unreachable])
      out.note(`${entryName}: ${note}`);
    if (isDry) {
      const command = commandText(withReferences(request));
      return { value: { command }, shown: command };
    }
    const { name } = await daemon.createWorkload(
      { body: { ...request, accepted_risks: request.accepted_risks ?? [] } },
      {
        signal,
        onProgress: (step) => out.progress(`${entryName}: ${step}`),
        onAccepted: () => secrets.keep(true),
      },
    );
    const { proxy_url: url } = await daemon.getWorkload({ params: { name } }, { signal });
    const warning = credentialWarning({ ...request, name });
    if (warning !== undefined) out.note(`${entryName}: ${warning}`);
    return { value: { url }, shown: `${name} runs at ${url}` };
  });
}

/** The ports belong to one of the servers, so the user grants them one by one. */
function grantAfterImport(name = 'NAME', services: readonly LocalService[]): string {
  const ports = [...new Set(services.flatMap(({ port }) => port ?? []))];
  const flags =
    ports.length === 0 ? '--local-port PORT' : ports.map((port) => `--local-port ${port}`).join(' ');
  return `run thv permission allow ${name} ${flags}`;
}

/** A failure among others is shown as one line, which the fix belongs to. */
function explained(failure: unknown, count: number): unknown {
  if (count === 1 || !(failure instanceof ThvError) || failure.hint === undefined) return failure;
  return new ThvError(failure.kind, `${failure.message}; ${failure.hint}`, { cause: failure });
}

type Ready = (Pick<ClientServer, 'request' | 'notes'> & { secrets: StoredSecrets }) | { failure: unknown };

interface Preparing {
  call: CommandCall;
  daemon: Client;
  secrets: StoredSecrets;
  isDry: boolean;
  isOwn: boolean;
}

/** Converts and completes an entry. A problem with one entry does not affect the others. */
async function prepare(
  entry: RawEntry,
  from: EntryFrom,
  { call, daemon, secrets, isDry, isOwn }: Preparing,
): Promise<Ready> {
  const { flags, out, signal } = call;
  try {
    const { request: read, notes, needs: open, doubts } = await readClientEntry(entry, from);
    const variables = isOwn ? [] : passedVariables(entry, read, from.env);
    if (variables.length > 0)
      out.note(`${entry.name}: the server gets ${variables.join(', ')} from your environment`);
    const { request: kept, rejected } = isDry
      ? { request: read, rejected: [] }
      : await decided(read, doubts, call);
    const needs = [...open, ...rejected];
    const grouped = { ...kept, ...(flags.isGiven('group') ? { group: flags.text('group') } : {}) };
    const isWanted = flags.has('store-secrets');
    const isRemote = grouped.url !== undefined;
    const catalogued = { name: entry.workload, isRemote, needs };
    if (isDry)
      return {
        request: grouped,
        notes: [
          ...notes,
          ...needs.filter(({ required }) => required).map((need) => `needs a value for ${need.name}`),
          ...optionalNotes(needs),
        ],
        secrets,
      };
    const complete = await withNeeds(grouped, catalogued, { daemon, out, signal });
    return {
      request: await withStoredCredentials(complete, { secrets, isWanted, out, signal }),
      notes,
      secrets,
    };
  } catch (failure) {
    signal.throwIfAborted();
    return { failure };
  }
}

/** At a terminal, asks whether the values that look like examples are real. */
async function decided(
  request: CreateWorkload,
  doubts: readonly Need[],
  { signal }: CommandCall,
): Promise<{ request: CreateWorkload; rejected: Need[] }> {
  if (!canAsk()) return { request, rejected: [] };
  const rejected: Need[] = [];
  for (const need of doubts) {
    const answer = await ask(`${request.name}: keep the value of ${need.name}? It may be an example. [Y/n]`, {
      signal,
    });
    if (/^n(o)?$/i.test(answer.trim())) rejected.push(need);
  }
  const isKept = (name: string): boolean => !rejected.some((need) => need.name === name);
  return {
    rejected,
    request: {
      ...request,
      env_vars: Object.fromEntries(Object.entries(request.env_vars ?? {}).filter(([name]) => isKept(name))),
      ...(request.headers ? { headers: request.headers.filter(({ name }) => isKept(name)) } : {}),
    },
  };
}

/**
 * Reads a client's file, another file, or a configuration or commands in standard input. Only client configuration
 * files belong to the user. Others may come with a project or from a web page.
 */
async function readSource(
  source: string,
  signal: AbortSignal,
): Promise<{ document: ClientDocument; directory: string; isOwn: boolean }> {
  const directory = process.cwd();
  if (source === '-') {
    if (process.stdin.isTTY) {
      throw invalid('SOURCE is missing', { hint: `specify a file or a client: ${clientNames().join(', ')}` });
    }
    const { readPasted } = await import('@toolhive/pasted/import');
    const document = readPasted(await readStandardInput(signal), 'standard input');
    if (document.isHidden) {
      throw invalid('standard input is an installation link, whose content you have not seen', {
        hint: "run the link, which shows its content: thv run 'LINK'",
      });
    }
    return { document, directory, isOwn: false };
  }
  const path = clientFile(source) ?? source;
  if (path === source && !existsSync(source) && /^[\w-]+$/.test(source)) {
    throw notFound(`client or file ${source} not found`, { hint: `clients: ${clientNames().join(', ')}` });
  }
  const document = readClientDocument(await readText(path, 'SOURCE'), path);
  const isOwn = clientNames().some((name) => clientFile(name) === resolve(path));
  return { document, directory: path === source ? projectOf(path) : directory, isOwn };
}

/**
 * The user's variables that a server gets because its entry names them, in whatever form. Other people's configurations
 * decide which ones those are.
 */
function passedVariables(
  { entry }: RawEntry,
  { image, url, cmd_arguments: args, volumes, env_vars: variables, headers }: CreateWorkload,
  env: EntryFrom['env'],
): string[] {
  const written = JSON.stringify(entry);
  const words = new Set(written.match(/[A-Za-z_]\w*/g));
  const own = headers?.map((header) => header.default);
  const given = [
    image,
    url,
    ...(args ?? []),
    ...(volumes ?? []),
    ...Object.values(variables ?? {}),
    ...(own ?? []),
  ];
  return [...words].filter((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (!value || written.includes(JSON.stringify(value).slice(1, -1))) return false;
    // A short value can be a part of other texts by chance.
    return given.some((text) => text === value || (value.length > 3 && text?.includes(value) === true));
  });
}

/** Earlier names of clients. */
const aliases: Readonly<Record<string, ClientName>> = { gemini: 'gemini-cli' };

/** The clients that can be imported from. */
export function clientNames(): string[] {
  return clientApplications.map(({ id }) => id);
}

function clientFile(name: string): string | undefined {
  const meant = Object.hasOwn(aliases, name) ? aliases[name] : name;
  const client = clientApplications.find(({ id }) => id === meant);
  if (client === undefined) return undefined;
  const place = { platform: process.platform, home: homedir(), env: process.env };
  return normalize(chosenClientPath(client, place, existsSync));
}

/** The name in the configuration, unless others have the same. */
function titleOf({ name, workload }: RawEntry, all: readonly RawEntry[]): string {
  return name !== '' && all.filter((entry) => entry.name === name).length === 1 ? name : workload;
}

/** The entries with these names. Several entries can have the same name. */
function chosen(entries: readonly RawEntry[], names: readonly string[], source: string): readonly RawEntry[] {
  const isNamed = (entry: RawEntry, name: string): boolean => entry.name === name || entry.workload === name;
  const unknown = names.filter((name) => !entries.some((entry) => isNamed(entry, name)));
  if (unknown.length > 0) {
    throw notFound(`${source} has no server ${unknown.join(', ')}`, {
      hint: `the entries are ${entries.map(({ name, workload }) => name || workload).join(', ')}`,
    });
  }
  return names.length === 0 ? entries : entries.filter((entry) => names.some((name) => isNamed(entry, name)));
}

/** Why an entry is not imported: it is disabled, or leads to a workload. */
function skipReason(
  entry: Readonly<Record<string, unknown>>,
  { workloads, isNamed }: { workloads: readonly Workload[]; isNamed: boolean },
): string | undefined {
  if (isDisabled(entry) && !isNamed) return 'it is disabled. To import it anyway, add its name';
  const text = [entry['url'], entry['serverUrl'], entry['httpUrl'], entry['uri']].find(
    (url) => typeof url === 'string',
  );
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null || !isLoopback(url.hostname)) return undefined;
  const own = workloads.find(({ port }) => String(port) === url.port);
  return own && `already the workload ${own.name}`;
}
