import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Client } from '@toolhive/contract/client';
import { ThvError, conflict, invalid, notFound } from '@toolhive/contract/failure';
import { defaultRegistry } from '@toolhive/contract/names';
import { printable } from '@toolhive/contract/printable';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { readText } from '../../read-text.ts';
import { withReferences } from '../pasted/credentials.ts';
import type { Installation } from '@toolhive/pasted/client-install';
import type { Need, Pasted, PastedFrom } from '@toolhive/pasted/pasted';
import { aloneNote, outsidePaths } from '@toolhive/pasted/outside-paths';
import type { splitValues } from '@toolhive/pasted/values';
import { commandText } from '../pasted/run-command.ts';
import { bundleSource, localPackage, sourceOf } from './source.ts';
import type { LocalPackage } from './source.ts';

/** A server that the user asks for, and the values that its configuration leaves open. */
export type Asked = Pasted & { needs?: Need[] };

/**
 * Interprets the words after `thv run`: a source, the command line of another program, or what adds a server to a
 * client.
 */
export async function askedFor(
  { arguments: [word], rest, signal }: Pick<CommandCall, 'arguments' | 'rest' | 'signal'>,
  daemon: Client,
): Promise<Asked> {
  const from = {
    env: process.env,
    directory: process.cwd(),
    readFile: (path: string) => readText(path, '--env-file'),
  };
  const { readInstallation } = await import('@toolhive/pasted/client-install');
  const installation = readInstallation(word === undefined ? rest : [word, ...rest]);
  if (installation !== undefined) return installed(installation, from);
  if (word === undefined) {
    const { readCommandLine } = await import('@toolhive/pasted/launchers');
    const { splitValues } = await import('@toolhive/pasted/values');
    const asked = withOpenVariables(await readCommandLine(rest, from), process.env);
    return { ...asked, notes: [...asked.notes, ...exampleNotes(asked, splitValues)] };
  }
  const bundle = bundleSource(word);
  if (bundle !== undefined) return { request: { image: bundle, cmd_arguments: [...rest] }, notes: [] };
  const local = localPackage(word);
  if (/\s/.test(word.trim()) && !isPathWithSpaces(word, local)) {
    throw invalid(`${JSON.stringify(word)} contains several words`, {
      // A user may run the hint, and without the quotes a shell would run all of it.
      hint: /[;&|<>$`\n]/.test(word)
        ? 'paste only the command of the server, without quotes'
        : `omit the quotes: thv run ${word}`,
    });
  }
  const repository = repositoryOf(word);
  if (repository !== undefined) {
    const image = await findByRepository(repository, word, { daemon, signal });
    return { request: { image, cmd_arguments: [...rest] }, notes: [] };
  }
  const { isPath, readLocalPath } = await import('@toolhive/pasted/local-path');
  if (local !== undefined || isPath(word)) {
    const { request, notes } = await readLocalPath([local?.path ?? word, ...rest], from, local?.scheme);
    return { request: { ...request, image: `${request.image ?? ''}${local?.fragment ?? ''}` }, notes };
  }
  // Container images never begin with @, but scoped npm packages do.
  const source = word.startsWith('@') ? { image: `npx://${word}` } : sourceOf(word);
  return { request: { ...source, cmd_arguments: [...rest] }, notes: [] };
}

/** A variable that the command only takes from another program, as in `TOKEN=$(gh auth token)`, is a value to ask for. */
export function withOpenVariables({ request, notes }: Pasted, env: NodeJS.ProcessEnv): Asked {
  const all = Object.entries(request.env_vars ?? {});
  const isOpen = ([name, value]: [string, string]): boolean => value === `\${${name}}`;
  const open = all.filter((each) => isOpen(each) && !env[each[0]]).map(([name]) => name);
  const known = all.flatMap((each): [string, string][] => {
    const [name] = each;
    if (!isOpen(each)) return [each];
    const value = env[name];
    return value === undefined || value === '' ? [] : [[name, value]];
  });
  const needs = open.map((name) => ({
    kind: 'variable' as const,
    name,
    description: 'the command takes it from another program',
    required: true,
    secret: true,
  }));
  if (all.every((each) => !isOpen(each))) return { request, notes };
  return { request: { ...request, env_vars: Object.fromEntries(known) }, notes, needs };
}

/** A command from a page can have examples instead of values, which are kept, because the user has written them. */
function exampleNotes(
  { request: { env_vars, headers }, needs = [] }: Asked,
  split: typeof splitValues,
): string[] {
  const scope = { env: {}, inputs: new Map<string, never>(), directory: undefined };
  const fields = Object.fromEntries((headers ?? []).map((field) => [field.name, field.default ?? '']));
  const found = [split('variable', env_vars ?? {}, scope), split('header', fields, scope)];
  const asked = new Set(needs.map(({ name }) => name));
  const names = found
    .flatMap((each) => [...each.needs, ...each.doubts])
    .map(({ name }) => name)
    .filter((name) => !asked.has(name));
  if (names.length === 0) return [];
  const looks = names.length === 1 ? 'value looks like an example' : 'values look like examples';
  return [
    `${names.join(', ')}: the ${looks}. If the server needs a real one, change the command and repeat it`,
  ];
}

/** The server of an installation command or link. The user has not seen what a link contains, so it is shown. */
async function installed({ entries, inputs, isHidden }: Installation, from: PastedFrom): Promise<Asked> {
  const { readClientEntry } = await import('@toolhive/pasted/client-entry');
  const [entry] = entries;
  if (entry === undefined) throw invalid('there is no server to run');
  if (entries.length > 1)
    throw invalid(`the command has ${entries.length} servers`, {
      hint: 'use thv import for several servers',
    });
  if (!isHidden) return readClientEntry(entry, { ...from, inputs });
  // A web page writes a link, so the link can use neither the user's variables and secrets nor files.
  const { request, notes, needs } = await readClientEntry(entry, { ...outside, inputs });
  const shown = printable(commandText(withReferences(request)));
  const isLocal = /^(?:\w+:\/\/)?\//.test(request.image ?? '');
  if (isLocal || request.volumes?.length || request.network_mode !== undefined) {
    throw invalid('the link gives the server access to this machine', {
      hint: `to accept that, run: ${shown}`,
    });
  }
  if (needs.length > 0) {
    const names = needs.map(({ name }) => name).join(', ');
    throw invalid(`the link asks for ${printable(names)}`, { hint: `to set them yourself, run: ${shown}` });
  }
  return { request, notes: [`the link contains: ${shown}`, ...notes] };
}

/** Where no variable and no file of the user can be read. */
const outside: PastedFrom = {
  env: {},
  directory: undefined,
  readFile() {
    throw invalid('a link cannot name a file of this machine', { hint: 'type the command instead' });
  },
};

/** Whether the whole word is a path, also one that does not exist, and not a command in quotes: `./server.js --flag`. */
function isPathWithSpaces(word: string, local: LocalPackage | undefined): boolean {
  const path = local?.path ?? expanded(word);
  if (existsSync(path)) return true;
  const [first = ''] = path.split(/\s/);
  return (local !== undefined || /^(?:\.{0,2}|~)\//.test(word)) && !existsSync(first);
}

function expanded(word: string): string {
  return resolve(word.replace(/^~(?=\/)/, homedir()));
}

/** Applies the flags of `thv run` to a pasted command. */
export function withFlags(pasted: CreateWorkload, flags: CreateWorkload): CreateWorkload {
  const env_vars = { ...pasted.env_vars, ...flags.env_vars };
  const labels = { ...pasted.labels, ...flags.labels };
  const volumes = [...(pasted.volumes ?? []), ...(flags.volumes ?? [])];
  const python_with = [...(pasted.python_with ?? []), ...(flags.python_with ?? [])];
  const own = new Set(flags.headers?.map(({ name }) => name.toLowerCase()));
  const others = (pasted.headers ?? []).filter(({ name }) => !own.has(name.toLowerCase()));
  const headers = [...others, ...(flags.headers ?? [])];
  return {
    ...pasted,
    ...flags,
    ...(python_with.length > 0 ? { python_with } : {}),
    env_vars: Object.keys(env_vars).length > 0 ? env_vars : undefined,
    labels: Object.keys(labels).length > 0 ? labels : undefined,
    volumes: volumes.length > 0 ? volumes : undefined,
    headers: headers.length > 0 ? headers : undefined,
  };
}

/** Notes about local paths outside all mounts that the server is told, with the command that grants access. */
export function unreachablePaths(request: CreateWorkload): string[] {
  const { cmd_arguments: args, env_vars: variables, volumes } = request;
  const found = outsidePaths(request, { directory: process.cwd() });
  if (found.size === 0) return [];
  const inner = (text: string): string => found.get(text)?.path ?? text;
  const outside = [...found.values()];
  const written = new Set(outside.flatMap(({ place, isInput }) => (isInput ? [] : [place])));
  const inputs = new Set(outside.flatMap(({ place, isInput }) => (isInput ? [place] : [])));
  const places = [...written.union(inputs)];
  const granted = withReferences({
    ...request,
    cmd_arguments: args?.map((arg) => {
      const [, flag = '', value = arg] = /^(--?[\w-]+=)(.*)$/s.exec(arg) ?? [];
      return flag + inner(value);
    }),
    env_vars:
      variables &&
      Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, inner(value)] as const)),
    volumes: [
      ...(volumes ?? []),
      ...places.map((place) => `${place}:${place}${written.has(place) ? '' : ':ro'}`),
    ],
  });
  const alone = new Set(outside.filter(({ isAlone }) => isAlone).map(({ path }) => path));
  return [
    `the server has no access to ${places.join(', ')}. To grant access (with :ro after a path for read-only access), run: ${commandText(granted)}`,
    ...[...alone].map(aloneNote),
  ];
}

/** The failure to find a bare name, with the commands for packages of that name. */
export function namingPackages(thrown: unknown, word: string | undefined): unknown {
  const isBareName = word !== undefined && /^[a-z0-9][\w.-]*$/i.test(word);
  if (!isBareName || !(thrown instanceof ThvError)) return thrown;
  if (!['not-found', 'unavailable', 'unsupported'].includes(thrown.kind) || !thrown.message.includes(word))
    return thrown;
  const hint = `for an npm package, run thv run npx://${word}. For a PyPI package, run thv run uvx://${word}. To find registry entries, run thv search ${word}`;
  return new ThvError(thrown.kind, thrown.message, { hint, cause: thrown });
}

/** The repository and the directory in a GitHub URL. */
function repositoryOf(word: string): string | undefined {
  const [, repository, directory = ''] =
    /^(?:https?:\/\/)?(?:www\.)?github\.com\/([^/#?]+\/[^/#?]+)(?:\/(?:tree|blob)\/[^/]+\/([^#?]*))?/i.exec(
      word,
    ) ?? [];
  if (repository === undefined) return undefined;
  return [repository.replace(/\.git$/, ''), directory.replace(/\/$/, '')]
    .filter(Boolean)
    .join('/')
    .toLowerCase();
}

/** The name of the registry entry whose repository this is. */
async function findByRepository(
  repository: string,
  word: string,
  { daemon, signal }: { daemon: Client; signal: AbortSignal },
): Promise<string> {
  const params = { name: defaultRegistry };
  const { servers, remote_servers: remote } = await daemon.listRegistryServers(
    { params, query: {} },
    { signal },
  );
  const known = [...servers, ...remote].flatMap(({ name, repository_url: url = '' }) => {
    const own = repositoryOf(url);
    return own === undefined || name === undefined ? [] : [{ name, own }];
  });
  const matching = known.filter(({ own }) => own === repository || own.startsWith(`${repository}/`));
  // An entry may name only the repository, and have the name of its directory.
  const above = known.filter(
    ({ name, own }) => repository.startsWith(`${own}/`) && repository.endsWith(`/${name}`),
  );
  const [found, ...others] = matching.length > 0 ? matching : above;
  if (found === undefined) {
    throw notFound(`no registry entry has the repository ${word}`, {
      hint: 'find the package or image in the README of the repository, and run that: thv run npx://NAME, uvx://NAME, or IMAGE',
    });
  }
  if (others.length === 0) return found.name;
  const names = [found, ...others].map(({ name }) => name).toSorted();
  throw conflict(`the repository ${word} has several servers: ${names.join(', ')}`, {
    hint: names.map((name) => `thv run ${name}`).join(', or '),
  });
}
