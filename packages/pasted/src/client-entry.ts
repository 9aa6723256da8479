import { homedir } from 'node:os';
import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import * as z from 'zod';
import { readCommandLine } from './launchers.ts';
import type { Need, Pasted, PastedFrom } from './pasted.ts';

const Texts = z.record(z.string(), z.coerce.string()).nullish();

/** An entry in the clients' formats, which use different names for the same fields. */
const Entry = z.object({
  command: z.union([z.string(), z.array(z.string()).min(1)]).nullish(),
  cmd: z.string().nullish(),
  args: z.array(z.coerce.string()).nullish(),
  env: Texts,
  envs: Texts,
  environment: Texts,
  envFile: z.string().nullish(),
  cwd: z.string().nullish(),
  url: z.string().nullish(),
  serverUrl: z.string().nullish(),
  httpUrl: z.string().nullish(),
  uri: z.string().nullish(),
  headers: Texts,
  http_headers: Texts,
  type: z.string().nullish(),
  transport: z.string().nullish(),
});
type Entry = z.infer<typeof Entry>;

/** A server of a client's configuration, and the values that the configuration leaves open. */
export interface ClientServer extends Pasted {
  needs: Need[];
}

/** Converts an entry in a client's configuration. Throws `invalid`, without quoting values. */
export async function readClientEntry(
  name: string,
  raw: Readonly<Record<string, unknown>>,
  from: PastedFrom,
): Promise<ClientServer> {
  const parsed = Entry.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`invalid entry ${name}: ${issue?.path.join('.')} has the wrong type`);
  }
  const entry = parsed.data;
  const workload = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[^A-Za-z0-9]+|-+$/g, '');
  const server = isStarted(entry) ? await readStarted(entry, from) : readReached(entry, from);
  return { ...server, request: { ...server.request, name: workload } };
}

function isStarted({ command, cmd }: Entry): boolean {
  return (command ?? cmd ?? '') !== '';
}

async function readStarted(entry: Entry, from: PastedFrom): Promise<ClientServer> {
  const { command, cmd, args, cwd, envFile } = entry;
  const directory = cwd ? resolved('cwd', cwd, from) : from.directory;
  const words = wordsOf(command ?? cmd ?? '', args ?? undefined).map((word) => resolved('args', word, from));
  const given = {
    ...(envFile ? await from.readEnvFile(resolved('envFile', envFile, from)) : {}),
    ...(entry.env ?? entry.envs ?? entry.environment),
  };
  const { values, needs } = split('variable', given, from);
  // An empty variable must not count as a value: docker run -e NAME passes it through.
  const env = { ...from.env, ...values, ...Object.fromEntries(needs.map(({ name }) => [name, undefined])) };
  const { request, notes } = await readCommandLine(words, { ...from, env, directory });
  const isDocker = /(^|[\\/])(docker|podman)(\.exe)?$/.test(words[0] ?? '');
  // Docker has all variables, but its container only the ones that -e names.
  const env_vars = isDocker ? request.env_vars : { ...values, ...request.env_vars };
  return { request: { ...request, env_vars }, notes, needs };
}

/** Some clients take a command with its arguments in one text, and some take a list. */
function wordsOf(command: string | string[], args: string[] | undefined): string[] {
  if (Array.isArray(command)) return [...command, ...(args ?? [])];
  return args === undefined && !command.startsWith('/')
    ? command.trim().split(/\s+/)
    : [command, ...(args ?? [])];
}

function readReached(entry: Entry, from: PastedFrom): ClientServer {
  const url = resolved('url', entry.url ?? entry.serverUrl ?? entry.httpUrl ?? entry.uri ?? '', from);
  const type = entry.type ?? entry.transport ?? '';
  const { values, needs } = split('header', entry.headers ?? entry.http_headers ?? {}, from);
  const isSse = type === 'sse' || (type === '' && new URL(url, 'http://none').pathname.endsWith('/sse'));
  const headers = Object.entries(values).map(([name, value]) => ({
    name,
    description: '',
    required: true,
    secret: false,
    default: value,
  }));
  const request: CreateWorkload = {
    url,
    ...(isSse ? { transport: 'sse' } : {}),
    ...(headers.length > 0 ? { headers } : {}),
  };
  return { request, notes: [], needs };
}

/** The known values, and the placeholders that only the user can replace. */
function split(
  kind: Need['kind'],
  given: Readonly<Record<string, string>>,
  from: PastedFrom,
): { values: Record<string, string>; needs: Need[] } {
  const values: Record<string, string> = {};
  const needs: Need[] = [];
  for (const [name, text] of Object.entries(given)) {
    const value = substituted(text, from);
    if (value !== undefined && !isExample(value)) values[name] = value;
    else
      needs.push({
        kind,
        name,
        description: text.includes(' ') ? `written as ${text}` : '',
        required: true,
        secret: true,
      });
  }
  return { values, needs };
}

/** Typical placeholders in examples. */
function isExample(value: string): boolean {
  return /^(<[^<>]+>|\[[^[\]]+\]|\{[^{}]+\}|your[-_ ].*|.*[-_ ]here|x{3,}|\.{3}|…|change[-_]?me|replace[-_ ].*)$/i.test(
    value,
  );
}

/** Replaces variables: `${NAME}`, `${env:NAME}`, `${userHome}`. Undefined if a variable is unknown. */
function substituted(text: string, { env, directory }: PastedFrom): string | undefined {
  let isKnown = true;
  const result = text.replaceAll(
    /\$\{(?:(\w+):(?!-))?([^}:]+)(?::-([^}]*))?\}/g,
    (_all, kind?: string, name = '', preset?: string) => {
      if (name === 'userHome' || (kind === 'env' && name === 'HOME')) return homedir();
      if (kind === undefined && name === 'workspaceFolder') return directory;
      const value = kind === undefined || kind === 'env' ? (env[name] ?? preset) : undefined;
      isKnown &&= value !== undefined;
      return value ?? '';
    },
  );
  return isKnown ? result : undefined;
}

function resolved(what: string, text: string, from: PastedFrom): string {
  const value = substituted(text, from);
  if (value !== undefined) return value;
  const names = [...text.matchAll(/\$\{(?:\w+:(?!-))?([^}:]+)/g)].map(([, name]) => name);
  throw invalid(`${what} contains ${names.join(', ')}, which is not set`, {
    hint: `set the environment variable ${names.join(', ')}, or replace the placeholder in the configuration`,
  });
}
