import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { withMounts } from '@toolhive/adoption/mounts';
import { credentialsIn, withSecrets } from '@toolhive/adoption/separate';
import { isCredential, replaceCredentials, replaceUrlCredentials } from '@toolhive/contract/credential';
import { invalid } from '@toolhive/contract/failure';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { ProjectServer } from '@toolhive/contract/project';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readEntry } from '@toolhive/pasted/entry-fields';
import type { EntryFields } from '@toolhive/pasted/entry-fields';
import { readClientEntry } from '@toolhive/pasted/client-entry';
import type { ClientDocument } from '@toolhive/pasted/client-document';
import type { Need } from '@toolhive/pasted/pasted';
import {
  filled,
  filledRequest,
  hasPlaceholder,
  substitute,
  withoutPlaceholders,
} from '@toolhive/pasted/placeholders';
import type { Open, Scope } from '@toolhive/pasted/placeholders';
import { isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { FileServer } from './file.ts';

/** The answers of the user, and the variables that the file can name. */
export interface Answers {
  variables: Readonly<Record<string, string>>;
  inputs: Readonly<Record<string, string>>;
}

export interface DesiredFrom {
  directory: string;
  inputs: ClientDocument['inputs'];
  answers: Answers;
}

/** The name of a value's secret before the secret is stored. */
export const ownSecret = (target: string): string => `@${target}`;

/** A value that a secret holds. `value` is undefined if the user has not given it this time. */
interface SecretValue {
  target: string;
  value: string | undefined;
  /** The parts of the value: variables and inputs. */
  from: string[];
  /** The IDs of the inputs that the value contains. */
  inputs: string[];
  /** The variables and inputs that the value lacks. */
  lacks: { variables: string[]; inputs: string[] };
}

/** The workload that a server of a project file becomes. */
export interface Desired {
  /** Refers to values by the names of `ownSecret`. */
  request: CreateWorkload;
  values: SecretValue[];
  /** The source as in the file, the same on every machine. */
  source: string;
  /** The secrets, variables, and files of the user that the server gets, in words. */
  access: string[];
  notes: string[];
}

/** Interprets a server of a project file, which others may have written. Throws `invalid`. */
export async function desiredOf(server: FileServer, from: DesiredFrom): Promise<Desired> {
  const scope = scopeOf(from);
  const {
    request: read,
    needs,
    notes,
  } = server.form === 'project'
    ? readProjectServer(server, scope, from.answers)
    : await readClient(server, scope, from.answers);
  const used = needs.filter((need) => need.required || isAnswered(need, from.answers));
  const { request: placed, values, variables } = withValues(read, used, from);
  const inside = withMounts(insideOnly(placed, from.directory), {
    home: homedir(),
    directory: from.directory,
    isShared: true,
  });
  const known = new Map(
    credentialsIn(inside).map((credential) => [credential, ownSecret(credential.target)]),
  );
  const request = withSecrets(inside, known);
  const literal = [...known.keys()].map(({ target, value }) => ({
    target,
    value,
    from: originOf(value, from.answers),
    inputs: [],
    lacks: { variables: [], inputs: [] },
  }));
  return {
    request,
    values: [...values, ...literal],
    source: portable(request, from.directory),
    access: accessOf(request, [...values, ...literal], variables, from),
    notes: [...notes, ...plainNotes(literal)],
  };
}

/** Variables stay open here, so that none gets to a server without its name in the plan. */
function scopeOf({ directory, inputs, answers }: DesiredFrom): Scope {
  const questions = [...inputs].map(([id, input]) => {
    const answer = Object.hasOwn(answers.inputs, id) ? answers.inputs[id] : input.default;
    const isPlain = answer !== undefined && !input.secret && !isCredential(id, answer);
    return [id, { ...input, secret: !isPlain, default: isPlain ? answer : undefined }] as const;
  });
  return { env: {}, inputs: new Map(questions), directory };
}

/** The same value without the defaults of variables that the user has. */
function withoutDefaults<Value>(value: Value, { variables }: Answers): Value {
  const change = (inner: unknown): unknown => {
    if (typeof inner === 'string')
      return inner.replaceAll(
        /\$\{((?:env:)?([A-Za-z_]\w*)):-[^{}]*\}/g,
        (token, name: string, word: string) => (Object.hasOwn(variables, word) ? `\${${name}}` : token),
      );
    if (Array.isArray(inner)) return inner.map(change);
    if (typeof inner !== 'object' || inner === null) return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, change(each)]));
  };
  return change(value) as Value; // only texts are replaced
}

/** `docker run -e NAME` passes on a variable of the user, as `${NAME}` does. */
function passedVariables({ command = '', args = [] }: EntryFields): string[] {
  const words = [command, args].flat();
  if (!/(^|[\\/])(docker|podman|nerdctl)(\.exe)?$/.test(words[0] ?? '')) return [];
  return words.flatMap((word, index) => {
    const isNext = ['-e', '--env'].includes(words[index - 1] ?? '');
    const [, name] =
      /^([A-Za-z_]\w*)$/.exec(isNext ? word : word.replace(/^(?:--env=|-e(?=[A-Z]))/, '=').slice(1)) ?? [];
    return name !== undefined && (isNext || /^(?:--env=|-e[A-Z])/.test(word)) ? [name] : [];
  });
}

interface Read {
  request: CreateWorkload;
  needs: Need[];
  notes: string[];
}

async function readClient(
  server: FileServer & { form: 'client' },
  scope: Scope,
  answers: Answers,
): Promise<Read> {
  const raw = withoutDefaults(server.entry.entry, answers);
  const fields = readEntry(server.name, raw);
  const passed = passedVariables(fields).filter((name) => !Object.hasOwn(fields.env, name));
  const env = { ...fields.env, ...Object.fromEntries(passed.map((name) => [name, `\${${name}}`])) };
  const entry = passed.length === 0 ? raw : { ...raw, env };
  const from = { env: {}, inputs: scope.inputs, directory: scope.directory, readFile: refuseToRead };
  const { request, needs, notes } = await readClientEntry({ ...server.entry, entry }, from);
  const { name: _name, ...unnamed } = request;
  return { request: unnamed, needs, notes };
}

function refuseToRead(path: string): Promise<never> {
  throw invalid(`it names the file ${path}`, {
    hint: 'add the variables of the file to the server, as ${NAME}',
  });
}

function readProjectServer(
  { server: written, name }: FileServer & { form: 'project' },
  scope: Scope,
  answers: Answers,
): Read {
  refuseCredentials(name, written);
  const server = withoutDefaults(written, answers);
  const { source, args, env, secrets, headers, volumes, permissions, ...others } = server;
  const open: Open[] = [];
  const fill = (text: string): string => {
    const found = substitute(text, scope);
    open.push(...found.open);
    return found.text;
  };
  const needs: Need[] = [];
  const split = (kind: 'variable' | 'header', given: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(given).flatMap(([target, written]) => {
      const { text, open: left } = substitute(written, scope);
      if (left.length === 0) return [[target, text]];
      needs.push({
        kind,
        name: target,
        description: '',
        required: true,
        secret: true,
        template: { text, open: left },
      });
      return [];
    });
  const isRemote = /^https?:\/\//i.test(source);
  if (isRemote && (env !== undefined || args !== undefined || volumes !== undefined))
    throw invalid('a remote server has no env, args, or volumes', {
      hint: 'use headers, with ${NAME} for values',
    });
  if (!isRemote && headers !== undefined)
    throw invalid('only remote servers have headers', { hint: 'use env' });
  const request: CreateWorkload = {
    ...others,
    ...(isRemote ? { url: fill(source) } : { image: localSource(fill(source), scope.directory ?? '') }),
    ...(args === undefined ? {} : { cmd_arguments: args.map(fill) }),
    ...(env === undefined ? {} : { env_vars: Object.fromEntries(split('variable', env)) }),
    ...(secrets === undefined || isRemote
      ? {}
      : { secrets: Object.entries(secrets).map(([target, secret]) => ({ name: secret, target })) }),
    ...(headers === undefined && !isRemote
      ? {}
      : { headers: [...plainHeaders(split('header', headers ?? {})), ...secretHeaders(secrets ?? {})] }),
    ...(volumes === undefined ? {} : { volumes: volumes.map((volume) => fill(volume)) }),
    ...(permissions === undefined
      ? {}
      : { permission_profile: typeof permissions === 'string' ? builtInProfiles[permissions] : permissions }),
  };
  const placeholders = [...new Map(open.map((each) => [each.token, each])).values()];
  needs.push(
    ...placeholders.map(({ token, name: word }): Need => ({
      kind: 'placeholder',
      name: word,
      description: '',
      required: true,
      secret: true,
      token,
    })),
  );
  return { request, needs, notes: [] };
}

const plainHeaders = (headers: readonly [string, string][]) =>
  headers.map(([name, value]) => ({ name, description: '', required: true, secret: false, default: value }));

/** A remote server gets stored secrets in its headers. */
const secretHeaders = (secrets: Readonly<Record<string, string>>) =>
  Object.entries(secrets).map(([name, secret]) => ({
    name,
    description: '',
    required: true,
    secret: true,
    default: `${secret},target=${name}`,
  }));

/** A file that is shared contains references to credentials only. */
function refuseCredentials(name: string, { env = {}, headers = {}, args = [], source }: ProjectServer): void {
  const found = Object.entries({ ...env, ...headers }).flatMap(([target, text]) =>
    !hasPlaceholder(text) && isCredential(target, text) ? [target] : [],
  );
  const note = (target: string, value: string): string => {
    if (!hasPlaceholder(value)) found.push(target || 'args');
    return value;
  };
  replaceCredentials(args, note);
  if (/^https?:/i.test(source)) replaceUrlCredentials(source, note);
  if (found.length === 0) return;
  const [first = ''] = found;
  throw invalid(`the file contains a credential of ${name} as plain text: ${found.join(', ')}`, {
    hint: `write \${${first.toUpperCase().replaceAll(/\W+/g, '_')}} instead, or name a stored secret in secrets`,
  });
}

/** A path after the scheme starts at the directory of the project. */
function localSource(source: string, directory: string): string {
  const [, scheme, path] = /^(npx|uvx|go|mcpb):\/\/(\.{1,2}(?:\/.*)?|~\/.*)$/.exec(source) ?? [];
  if (scheme === undefined || path === undefined) return source;
  return `${scheme}://${resolve(directory, path.replace(/^~(?=\/)/, homedir()))}`;
}

/** Mounts and programs with absolute paths. Throws for a program outside the project. */
function insideOnly(request: CreateWorkload, directory: string): CreateWorkload {
  const { image, volumes, permission_profile: profile } = request;
  if (image !== undefined) requireInside(image, directory);
  const absolute = (volume: string): string => {
    const [source = '', ...rest] = volume.split(':');
    return [resolve(directory, source.replace(/^~(?=\/|$)/, homedir())), ...rest].join(':');
  };
  return {
    ...request,
    ...(volumes ? { volumes: volumes.map(absolute) } : {}),
    ...(profile?.read || profile?.write
      ? {
          permission_profile: {
            ...profile,
            ...(profile.read ? { read: profile.read.map(absolute) } : {}),
            ...(profile.write ? { write: profile.write.map(absolute) } : {}),
          },
        }
      : {}),
  };
}

function requireInside(image: string, directory: string): void {
  const isScheme = /^(?:npx|uvx|go|mcpb):\/\//.test(image);
  if (!isScheme) return;
  const source = parseSource(image);
  if (source.kind === 'image') return;
  const isOfMachine = source.kind === 'bundle' ? !source.name.startsWith('https:') : isLocalPath(source);
  const path = source.name;
  if (!isOfMachine || isInside(path, directory)) return;
  throw invalid(`it runs ${path}, which is outside the project`, {
    hint: 'move it into the project, or use a published package',
  });
}

/** Whether a path is in a directory. A link is where it leads. */
function isInside(path: string, directory: string): boolean {
  const real = (text: string): string => {
    try {
      return realpathSync(text);
    } catch {
      // A path that does not exist yet is where its directory leads.
      const parent = dirname(text);
      return parent === text ? text : join(real(parent), basename(text));
    }
  };
  const rest = relative(real(directory), real(path));
  return rest === '' || (!rest.startsWith('..') && !isAbsolute(rest));
}

/** A value that only the user knows, with the places that it fills. */
interface Answered {
  target: string;
  text: string;
  value: string | undefined;
  open: readonly { token: string; name: string }[];
  /** Whether any part of it may be a credential. */
  isSecret: boolean;
}

function answered({ kind, name, token, template }: Need, { answers, inputs }: DesiredFrom): Answered {
  const open = template?.open ?? [{ token: token ?? `\${${name}}`, name }];
  const answerTo = (each: { token: string; name: string }): string | undefined => {
    const known = isInput(each.token) ? answers.inputs : answers.variables;
    return Object.hasOwn(known, each.name) ? known[each.name] : undefined;
  };
  const text = template?.text ?? open[0]?.token ?? '';
  const found = open.map((each) => [each.token, answerTo(each)] as const);
  const isKnown = found.every(([, answer]) => answer !== undefined);
  const value = isKnown
    ? filled(text, new Map(found.map(([key, answer]) => [key, answer ?? ''])))
    : undefined;
  const isSecret =
    value === undefined ||
    isCredential(name, value) ||
    open.some((each) => {
      const isPassword = isInput(each.token) && inputs.get(each.name)?.secret !== false;
      return isPassword || isCredential(each.name, answerTo(each) ?? '');
    });
  return { target: kind === 'placeholder' ? targetOf(name) : name, text, value, open, isSecret };
}

/** Whether the user's variables have a part of a value that the server can do without. */
function isAnswered({ template }: Need, { variables }: Answers): boolean {
  return template?.open.some(({ name }) => Object.hasOwn(variables, name)) === true;
}

/** Fills in the values that only the user knows. Credentials become references to secrets. */
function withValues(
  read: CreateWorkload,
  needs: readonly Need[],
  from: DesiredFrom,
): { request: CreateWorkload; values: SecretValue[]; variables: string[] } {
  const values: SecretValue[] = [];
  const variables = new Set<string>();
  const headers = [...(read.headers ?? [])];
  const secrets = [...(read.secrets ?? [])];
  const env: Record<string, string> = {};
  const tokens = new Map<string, string>();
  for (const need of needs) {
    const { kind, token = '' } = need;
    const { target, value, open, isSecret } = answered(need, from);
    for (const each of open) if (!isInput(each.token)) variables.add(each.name);
    if (isSecret) {
      const lacking = open.filter(
        ({ token: word, name }) =>
          !Object.hasOwn(isInput(word) ? from.answers.inputs : from.answers.variables, name),
      );
      values.push({
        target,
        value,
        from: open.map((each) => sourceOf(each.token, each.name)),
        inputs: open.filter((each) => isInput(each.token)).map(({ name }) => name),
        lacks: {
          variables: lacking.filter((each) => !isInput(each.token)).map(({ name }) => name),
          inputs: lacking.filter((each) => isInput(each.token)).map(({ name }) => name),
        },
      });
    }
    const text = isSecret ? `\${secret:${target}}` : (value ?? '');
    if (kind === 'header') headers.push(headerOf(target, isSecret ? undefined : text));
    else if (isSecret) secrets.push({ name: ownSecret(target), target });
    else if (kind === 'variable') env[target] = text;
    if (kind === 'placeholder') tokens.set(token, text);
  }
  const request = filledRequest({ ...read, headers: undefined }, tokens);
  return {
    values,
    variables: [...variables],
    request: {
      ...request,
      ...(Object.keys(env).length === 0 ? {} : { env_vars: { ...request.env_vars, ...env } }),
      ...(headers.length === 0 ? {} : { headers: filledRequest({ headers }, tokens).headers }),
      ...(secrets.length === 0 ? {} : { secrets }),
    },
  };
}

/** A header with a value, or with that of a secret. */
const headerOf = (name: string, value: string | undefined) => ({
  name,
  description: '',
  required: true,
  secret: value === undefined,
  default: value ?? `${ownSecret(name)},target=${name}`,
});

const targetOf = (name: string): string =>
  name
    .toUpperCase()
    .replaceAll(/\W+/g, '_')
    .replace(/^(?=\d)/, '_');

const isInput = (token: string): boolean => /^\$?\{input:/.test(token);

const sourceOf = (token: string, name: string): string =>
  isInput(token) ? `the answer to ${name}` : `the variable ${name}`;

/** Where a credential in the settings comes from: a variable of the user, an answer, or the file. */
function originOf(value: string, { variables, inputs }: Answers): string[] {
  const of = (known: Readonly<Record<string, string>>, what: (name: string) => string): string[] =>
    Object.entries(known).flatMap(([name, text]) =>
      text !== '' && value.includes(text) ? [what(name)] : [],
    );
  return [...of(variables, (name) => `the variable ${name}`), ...of(inputs, (id) => `the answer to ${id}`)];
}

function plainNotes(literal: readonly SecretValue[]): string[] {
  const plain = literal.filter(({ from }) => from.length === 0).map(({ target }) => target);
  if (plain.length === 0) return [];
  return [
    `the file contains credentials as plain text, which move to the secrets: ${plain.join(', ')}. Write \${NAME} in the file instead, and replace the credentials, because everyone with the file has them`,
  ];
}

/** The source of a server, without the paths of this machine. */
function portable({ image = '', url }: CreateWorkload, directory: string): string {
  if (url !== undefined) return withoutPlaceholders(url, '*');
  return image
    .replace(`://${directory}/`, '://./')
    .replace(new RegExp(`://${RegExp.escape(directory)}$`), '://.');
}

function accessOf(
  {
    secrets,
    headers,
    url,
    image,
    volumes,
    permission_profile: profile,
    allow_scripts: scripts,
    tool_pinning: pinning,
  }: CreateWorkload,
  values: readonly SecretValue[],
  variables: readonly string[],
  { directory, answers }: DesiredFrom,
): string[] {
  const own = new Set(values.map(({ target }) => ownSecret(target)));
  const stored = (secrets ?? []).filter(({ name }) => !own.has(name));
  const sent = (headers ?? []).flatMap(({ name, secret, default: reference = '' }) =>
    secret && reference !== `${ownSecret(name)},target=${name}`
      ? [{ name, key: reference.split(',target=')[0] ?? '' }]
      : [],
  );
  const given = variables.filter((name) => Object.hasOwn(answers.variables, name));
  const mounts = [...(volumes ?? []), ...(profile?.read ?? []), ...(profile?.write ?? [])].map(
    (volume) => volume.split(':')[0] ?? '',
  );
  const kept = [...new Set(values.flatMap(({ lacks }) => lacks.variables))];
  const questions = [...new Set(values.flatMap(({ inputs: ids }) => ids))];
  const outside = mounts.filter((path) => !isInside(path, directory));
  const isProgram = image !== undefined && /^(?:npx|uvx|go|mcpb):\/\/\//.test(image);
  return [
    ...stored.map(({ name, target }) => `your stored secret ${name}, as ${target}`),
    ...sent.map(
      ({ name, key }) => `your stored secret ${key}, in the header ${name} to ${URL.parse(url ?? '')?.host}`,
    ),
    ...given.map((name) => `your environment variable ${name}`),
    ...kept.map((name) => `your environment variable ${name}, as stored by an earlier thv up`),
    ...questions.map((id) => `your answer to ${id}`),
    ...outside.map((path) => `files outside the project: ${path}`),
    ...(isProgram ? [`a program in the project: ${portable({ image }, directory)}`] : []),
    ...(scripts ?? []).map((name) => `install scripts of the package ${name} run`),
    ...(pinning === 'off' ? ['changes of its tools are not noticed, because tool_pinning is off'] : []),
  ];
}
