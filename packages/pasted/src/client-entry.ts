import { insteadOfWebSocket, isSseUrl } from '@toolhive/contract/sse-url';
import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { pageAddress } from '@toolhive/contract/page-address';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { RawEntry } from './client-document.ts';
import { isDisabled } from './entry-state.ts';
import { readEntry } from './entry-fields.ts';
import type { EntryFields } from './entry-fields.ts';
import type { OAuthSettings } from './entry-oauth.ts';
import { toolNotes } from './entry-tools.ts';
import { readDotenv } from './env-file.ts';
import { exampleIn, examplesInUrl, examplesInWord } from './examples.ts';
import { isContainerProgram } from './docker-run.ts';
import { isCommandLine, readCommandLine } from './launchers.ts';
import { behindBridge } from './bridges.ts';
import type { BridgedServer } from './bridges.ts';
import { absolutePath } from './paths.ts';
import type { Need, Pasted, PastedFrom } from './pasted.ts';
import { substitute, withoutPlaceholders } from './placeholders.ts';
import type { Input, Open, Scope } from './placeholders.ts';
import { splitValues } from './values.ts';
import type { Split } from './values.ts';
import { withBracesInText } from './shell-command.ts';
import { wordsIn } from './words.ts';

/** Where an entry is read, with the questions of its configuration. */
export interface EntryFrom extends PastedFrom {
  inputs?: ReadonlyMap<string, Input>;
}

/** A server in a client's configuration, and the values that the configuration leaves open. */
export interface ClientServer extends Pasted {
  needs: Need[];
  /** Values that look like examples. The user decides whether they are. */
  doubts: Need[];
}

/** Converts an entry in a client's configuration. Throws `invalid`, without quoting values. */
export async function readClientEntry(
  { name: written, workload, notes, entry: raw }: RawEntry,
  from: EntryFrom,
): Promise<ClientServer> {
  const name = written === '' ? workload : written;
  const entry = readEntry(name, raw);
  if (isDisabled(raw) && !hasCommand(entry) && entry.url === undefined) {
    throw invalid(`the entry ${name} only turns off a server from another configuration`, {
      hint: 'import the configuration that contains its command or URL',
    });
  }
  const bridged = hasCommand(entry) ? behindBridge(wordsOf(entry), namedIn(entry)) : undefined;
  const server =
    bridged !== undefined && 'url' in bridged
      ? readBridged(name, entry, bridged, from)
      : hasCommand(entry)
        ? await readStarted(entry, from)
        : readReached(name, entry, from);
  const doubtful = server.doubts.map(
    ({ name: doubt }) => `the value of ${doubt} may be an example. If it is, replace it`,
  );
  const { tools, withoutTools, patterns } = entry.limits;
  const hiddenTools = bridged !== undefined && 'url' in bridged ? bridged.withoutTools : undefined;
  return {
    ...server,
    request: {
      ...server.request,
      ...(tools === undefined ? {} : { tools }),
      ...(workload === '' ? {} : { name: workload }),
    },
    notes: [
      ...notes,
      ...server.notes,
      ...doubtful,
      ...toolNotes({ withoutTools: withoutTools ?? hiddenTools, patterns }),
      ...unreadNotes(entry),
    ],
  };
}

function unreadNotes({ unread }: EntryFields): string[] {
  const names = unread.slice(0, maxNamed).join(', ');
  const more = unread.length > maxNamed ? ', and others' : '';
  const object = unread.length === 1 ? 'it' : 'them';
  return unread.length === 0
    ? []
    : [`not imported: ${names}${more}. Check whether the server needs ${object}`];
}

/** Others write the fields. */
const maxNamed = 8;

/** An entry's variables as its author would name them. Their values may contain placeholders. */
function namedIn({ env }: EntryFields): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, `\${${name}}`]));
}

function hasCommand({ command }: EntryFields): boolean {
  return command !== undefined && command.length > 0 && command !== '';
}

function readBridged(
  name: string,
  entry: EntryFields,
  { url, headers, type, note, oauth }: BridgedServer,
  from: EntryFrom,
): ClientServer {
  const signIn = { ...oauth, hasSecret: false };
  const server = readReached(name, { ...entry, url, headers, type, oauth: signIn }, from);
  return { ...server, notes: [...server.notes, note] };
}

async function readStarted(entry: EntryFields, from: EntryFrom): Promise<ClientServer> {
  const scope: Scope = { env: from.env, inputs: from.inputs ?? new Map(), directory: from.directory };
  const directory = entry.cwd === undefined ? from.directory : pathOf(entry.cwd, scope);
  const file = entry.envFile === undefined ? undefined : pathOf(entry.envFile, scope);
  const given = {
    ...(file === undefined ? {} : readDotenv(await from.readFile(file))),
    ...entry.env,
  };
  const own = splitVariables(given, scope);
  const open = new Set(own.needs.map((need) => need.name));
  // An empty variable must not count as a value: docker run -e NAME passes it through.
  const known = {
    ...from.env,
    ...own.values,
    ...Object.fromEntries([...open].map((name) => [name, undefined])),
  };
  const inner: Scope = { ...scope, env: known, directory };
  const found: Open[] = [];
  const words = withBracesInText(withNamedVariables(wordsOf(entry)), known).map((word) => {
    const { text, open: places } = substitute(withBraces(word), inner);
    found.push(...places);
    return text;
  });
  const passed = { ...known, ...Object.fromEntries([...open].map((name) => [name, `\${${name}}`])) };
  const { request, notes } = await readCommandLine(words, { ...from, env: passed, directory });
  found.push(...(request.cmd_arguments ?? []).flatMap(examplesInWord).map(openExample));
  const isDocker = isContainerProgram(words[0] ?? '');
  const variables = splitValues('variable', request.env_vars ?? {}, inner);
  // Docker has all variables, but its container only the ones that -e names.
  const env_vars = isDocker ? variables.values : { ...own.values, ...variables.values };
  const { PATH: path, ...others } = env_vars;
  const hasPath = !isDocker && path !== undefined;
  if (hasPath) notes.push('PATH is not set, because it names directories of this machine');
  const needed = isDocker
    ? own.needs.filter(({ name }) => variables.needs.some((need) => need.name === name))
    : own.needs;
  const needs = unique([...needed, ...variables.needs]).filter(({ name }) => isDocker || name !== 'PATH');
  const placeholders = placeholderNeeds(found, request);
  const doubts = isDocker ? own.doubts.filter(({ name }) => Object.hasOwn(env_vars, name)) : own.doubts;
  const kept = hasPath ? others : env_vars;
  return { request: { ...request, env_vars: kept }, notes, needs: [...needs, ...placeholders], doubts };
}

/** Divides the variables of an entry, whose values can contain its other variables. */
function splitVariables(given: Readonly<Record<string, string>>, scope: Scope): Split {
  const first = splitValues('variable', given, scope);
  const left = first.needs.flatMap(({ name }) =>
    given[name] === undefined ? [] : [[name, given[name]] as const],
  );
  if (left.length === 0) return first;
  const inner = { ...scope, env: { ...scope.env, ...first.values } };
  const second = splitValues('variable', Object.fromEntries(left), inner);
  return {
    values: { ...first.values, ...second.values },
    needs: second.needs,
    doubts: [...first.doubts, ...second.doubts],
  };
}

/** `$TOKEN` and `--token=$TOKEN`, which no server can mean as text: some clients and every shell replace them. */
function withBraces(word: string): string {
  return word.replace(
    /(^|=)\$([A-Z_][A-Z0-9_]*)$/,
    (_whole, before: string, name: string) => `${before}\${${name}}`,
  );
}

/** `docker run -e ${TOKEN}`: its author means the variable, not a variable with the name of its value. */
function withNamedVariables(words: readonly string[]): string[] {
  return words.map((word, index) => {
    const [, name] = /^\$\{(?:env:)?([A-Za-z_]\w*)\}$/.exec(word) ?? [];
    const before = words[index - 1] ?? '';
    return name !== undefined && (before === '-e' || before === '--env') ? name : word;
  });
}

/** Some clients take a command with its arguments in one text, and some take a list. */
function wordsOf({ command = '', args: given = [] }: EntryFields): string[] {
  const args = given.length === 1 ? splitArguments(given[0] ?? '') : given;
  if (Array.isArray(command)) return [...command, ...args];
  const whole = [command, ...args];
  // The path of a program can contain spaces.
  const [, program, rest = ''] = windowsCommand.exec(command) ?? [];
  if (program !== undefined) return [program, ...(wordsIn(rest) ?? [rest]), ...args];
  if (!/\s/.test(command.trim()) || isCommandLine(whole)) return [command.trim(), ...args];
  const split = wordsIn(command);
  if (split === undefined) return whole;
  if (isCommandLine(split)) return [...split, ...args];
  return args.length === 0 && !isPathWithSpaces(split) ? split : whole;
}

/** `C:\Program Files\nodejs\npx.cmd -y package`: the file extension ends the path. */
const windowsCommand = /^\s*([A-Za-z]:[\\/][^"'\r\n]{1,300}?\.(?:exe|cmd|bat|ps1))(?:\s+(.*))?$/is;

/** `/Applications/My App.app/Contents/MacOS/server`: a word continues the path that begins before it. */
function isPathWithSpaces([first = '', ...others]: readonly string[]): boolean {
  const continues = (word: string): boolean => /^[^-/~.$=:][^=:/]*\//.test(word);
  return /^(?:\/|~\/|\.{1,2}\/)/.test(first) && others.some(continues);
}

/** All arguments in one text: `"-y package /folder"`. No flag contains a space before its value. */
function splitArguments(only: string): string[] {
  return /^--?\w[\w-]*\s+\S/.test(only) ? (wordsIn(only) ?? [only]) : [only];
}

function pathOf(text: string, scope: Scope): string {
  return absolutePath(substitute(text, scope).text, scope);
}

/** The placeholders that are left in the request, and that only the user can replace. */
function placeholderNeeds(found: readonly Open[], request: CreateWorkload): Need[] {
  const { image = '', url = '', cmd_arguments, volumes } = request;
  const texts = [image, url, ...(cmd_arguments ?? []), ...(volumes ?? [])];
  const left = found.filter(({ token }) => texts.some((text) => text.includes(token)));
  return [...new Map(left.map((open) => [open.token, open])).values()].map(needOf);
}

function needOf({ token, name, description, secret }: Open): Need {
  return {
    kind: 'placeholder',
    name,
    description,
    required: true,
    secret:
      secret ??
      /key|token|secret|password|passwd|pwd|credential|auth|dsn|uri|(?:database|db|postgres(?:ql)?|pg|mysql|mongo(?:db)?|redis)_?url|connection_?string/i.test(
        name,
      ),
    token,
  };
}

/** An example in the place of a value: `YOUR_API_KEY`, `<your token>`. */
function openExample(token: string): Open {
  if (/[/\\]/.test(token))
    return { token, name: token, description: 'the path on this machine', secret: false };
  return { token, name: token.replaceAll(/[^\w .-]/g, '').trim(), description: '' };
}

function unique(needs: readonly Need[]): Need[] {
  return [...new Map(needs.toReversed().map((need) => [need.name, need])).values()].toReversed();
}

function readReached(entryName: string, entry: EntryFields, from: EntryFrom): ClientServer {
  const scope: Scope = { env: from.env, inputs: from.inputs ?? new Map(), directory: from.directory };
  // The variables of an entry can be the values of its placeholders.
  const own = splitVariables(entry.env, scope);
  const known: Scope = { ...scope, env: { ...from.env, ...own.values } };
  const type = (entry.type ?? '').toLowerCase();
  if (/^(?:open_?api|rest|graphql|grpc|a2a)$/.test(type)) {
    throw invalid(`the entry ${entryName} describes an API (${type}), not an MCP server`, {
      hint: 'run an MCP server that calls the API',
    });
  }
  if (entry.url === undefined && entry.owner !== undefined) {
    throw invalid(
      `the entry ${entryName} belongs to ${entry.owner}, and does not say how to start or reach the server`,
      { hint: "find the server's command or URL, and add it with thv run" },
    );
  }
  if (entry.url === undefined) {
    throw invalid(`the entry ${entryName} has neither a command nor a URL`, {
      hint: 'add "command" with the program that starts the server, or "url"',
    });
  }
  const { text: url, open } = substitute(entry.url, known);
  const braces: Open[] = [...url.matchAll(/(?<!\$)\{([\w-]{1,100})\}/g)].map(([token, name = '']) => ({
    token,
    name,
    description: '',
  }));
  requireUrl(url, [...open, ...braces]);
  const named = new Set(braces.map(({ token }) => token));
  const examples = examplesInUrl(url).filter((token) => !named.has(token));
  open.push(...examples.map(openExample));
  if (/^(ws|websocket)/.test(type)) {
    throw invalid(`the transport ${type} of the entry ${entryName} is not supported`, {
      hint: 'use the URL of the server for streamable HTTP or SSE',
    });
  }
  const { values, needs, doubts } = splitValues('header', entry.headers, known);
  const isSse = type === 'sse' || (type === '' && isSseUrl(url));
  // A default can be empty: "${TOKEN:-}", "Bearer ${TOKEN:-}".
  const filled = Object.entries(values).filter(([, value]) => !/^(?:Bearer|Basic|Token)?\s*$/i.test(value));
  const headers = filled.map(([name, value]) => ({
    name,
    description: '',
    required: true,
    secret: false,
    default: value,
  }));
  const signIn = signInOf(entry.oauth, known);
  const request: CreateWorkload = {
    url,
    ...(isSse ? { transport: 'sse' } : {}),
    ...(headers.length > 0 ? { headers } : {}),
    ...signIn.settings,
  };
  return { request, notes: signIn.notes, needs: [...needs, ...[...open, ...braces].map(needOf)], doubts };
}

/** The client with which the user signs in. Its secret belongs to the secrets, which a configuration does not name. */
function signInOf(
  oauth: OAuthSettings,
  scope: Scope,
): { settings: Pick<CreateWorkload, 'oauth_config'>; notes: string[] } {
  const { callbackPort, scopes = [], hasSecret } = oauth;
  const known = (text: string | undefined): string | undefined => {
    const { text: filled, open } = substitute(text ?? '', scope);
    const isExample = open.length > 0 || exampleIn('client_id', filled) !== undefined;
    return filled === '' || isExample ? undefined : filled;
  };
  const clientId = known(oauth.clientId);
  const [authorize, token] = [known(oauth.authorizeUrl), known(oauth.tokenUrl)];
  // Without a client, ToolHive registers one where the server says.
  const isComplete = clientId !== undefined && isSafe(authorize) && isSafe(token);
  // Another host at the second URL could get the authorization code that the first one issues.
  const isOneHost = isComplete && new URL(authorize).origin === new URL(token).origin;
  const oauth_config = {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(isOneHost ? { authorize_url: authorize, token_url: token } : {}),
    ...(callbackPort === undefined ? {} : { callback_port: callbackPort }),
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(isSafe(oauth.resource) ? { resource: oauth.resource } : {}),
  };
  const isLeftOut = !isOneHost && Boolean(oauth.authorizeUrl ?? oauth.tokenUrl);
  const reason = isComplete ? 'because their hosts differ' : 'without two https URLs and the client ID';
  return {
    settings: Object.keys(oauth_config).length === 0 ? {} : { oauth_config },
    notes: [
      ...(oauth.clientId && clientId === undefined
        ? ['the OAuth client ID is not known. Add --remote-auth-client-id']
        : []),
      ...(hasSecret ? ['the OAuth client secret is not imported. Add --remote-auth-client-secret'] : []),
      ...(isLeftOut
        ? [`the OAuth URLs are not imported ${reason}. ToolHive uses those that the server announces`]
        : []),
    ],
  };
}

/** Whether a sign-in can use the URL. */
function isSafe(text: string | undefined): text is string {
  const url = text === undefined ? null : URL.parse(text);
  return (
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))
  );
}

/** Throws for anything but an http URL, without quoting it: a URL can contain credentials. */
function requireUrl(text: string, open: readonly Open[]): void {
  const plain = open.reduce((url, { token }) => url.replaceAll(token, '1'), text);
  const url = URL.parse(withoutPlaceholders(plain, '1'));
  // A placeholder can be the beginning of the URL.
  if (url === null && open.some(({ token }) => text.startsWith(token))) return;
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) {
    const page = pageAddress(url.href);
    if (page !== undefined) throw invalid(page.problem, { hint: page.hint });
    return;
  }
  if (/^wss?:/i.test(text)) {
    throw invalid('the URL is one for WebSocket, which is not supported', {
      hint: insteadOfWebSocket,
    });
  }
  const examples = [...text.matchAll(/<[^<>/@]{1,60}>/g)].map(([example]) => example);
  const [, port] = /^\w+:\/\/[^/@]*:(\d{1,10})(?:\/|$)/.exec(text) ?? [];
  throw invalid('the URL is not a valid http or https URL', {
    hint:
      examples.length > 0
        ? `replace ${examples.join(', ')} in the configuration`
        : port !== undefined && Number(port) > 65_535
          ? `use a port up to 65535 instead of ${port}`
          : 'use a URL such as https://mcp.example.com/mcp',
  });
}
