import { meaningOf } from './runtime-arguments.ts';
import type { Argument, Input, NamedInput, Package, Remote, ServerJson, Variables } from './server-json.ts';

/** One way to run a server on this machine. */
export interface WayToRun {
  isImage: boolean;
  /** An image reference or a package URL. */
  source: string;
  transport: string;
  targetPort?: number;
  args: string[];
  variables: object[];
  /** The inputs that the user must provide, one per line. */
  asked: string[];
  /** The mounts that the server wants, one per line. Only the user can grant them. */
  mounts: string[];
}

/** The ways to run a server that this product has, and why others are none. */
export function waysToRun({ packages }: ServerJson): { ways: WayToRun[]; why: string[] } {
  const ways: WayToRun[] = [];
  const why = packages.problems.map((problem) => `one of its packages is invalid: ${problem}`);
  for (const each of packages.usable) {
    const way = wayOf(each);
    if (typeof way === 'string') why.push(way);
    else ways.push(way);
  }
  return { ways: ways.toSorted((one, other) => rank(one) - rank(other)), why };
}

/**
 * Packages of registries come first, because they have versions. Of several bundles, the one that names this platform
 * wins.
 */
function rank({ source, transport, targetPort, mounts }: WayToRun): number {
  // Without an address, the port of such a server is unknown.
  if (mounts.length > 0) return 0.75;
  if (!source.startsWith('mcpb://')) return transport === 'stdio' || targetPort !== undefined ? 0 : 0.5;
  const file = source.slice(source.lastIndexOf('/')).toLowerCase();
  const names = (words: Record<string, RegExp>): (string | undefined)[] =>
    Object.keys(words).filter((key) => words[key]?.test(file) === true);
  const [systems, processors] = [names(systemWords), names(processorWords)];
  const fits = (found: readonly (string | undefined)[], own: string): boolean =>
    found.length === 0 || found.includes(own);
  if (!fits(systems, process.platform) || !fits(processors, process.arch)) return 3;
  return systems.length + processors.length > 0 ? 1 : 2;
}

/** How file names say for which system they are. */
const systemWords: Record<string, RegExp> = {
  linux: /linux/,
  darwin: /darwin|mac|osx/,
  win32: /(?<!dar)win|windows/,
};
const processorWords: Record<string, RegExp> = {
  x64: /x64|x86[-_]64|amd64/,
  arm64: /arm64|aarch64/,
};

function wayOf(each: Package): WayToRun | string {
  const kind = packageKinds[each.registryType.toLowerCase()];
  if (kind === undefined) return `packages of the type ${each.registryType} cannot be run`;
  const [registry] = kind.registries ?? [];
  if (registry !== undefined && !isFrom(each.registryBaseUrl, kind.registries)) {
    return `the package is published at ${each.registryBaseUrl}, but ToolHive uses only ${registry}`;
  }
  const problem = kind === bundle ? bundleProblem(each) : undefined;
  if (problem !== undefined) return problem;
  const isImage = kind === image;
  const runtime = meaningOf(each, isImage);
  if (typeof runtime === 'string') {
    return `its runtime argument ${runtime} cannot be honoured: run ${kind.source(each)} with your own options instead`;
  }
  const variables = settable([...each.environmentVariables, ...runtime.variables]);
  if (typeof variables === 'string') return variables;
  const { words, asked } = wordsOf([...runtime.rest, ...each.packageArguments]);
  const port = portOf(each);
  return {
    isImage,
    source: `${kind.source(each)}${runtime.program === undefined ? '' : `#program=${runtime.program}`}`,
    transport: transportOf(each.transport?.type ?? 'stdio'),
    ...(port === undefined ? {} : { targetPort: port }),
    args: words,
    variables: variables.map(variableOf),
    asked,
    mounts: runtime.mounts,
  };
}

/** The variables with names that ToolHive can set, or the reason why the server cannot do without another one. */
function settable(variables: readonly NamedInput[]): NamedInput[] | string {
  const others = variables.filter(({ name }) => !/^[A-Za-z_]\w*$/.test(name));
  const needed = others.find(({ name, isRequired }) => isRequired && name.trim() !== '');
  return needed === undefined
    ? variables.filter((variable) => !others.includes(variable))
    : `its environment variable ${JSON.stringify(needed.name.slice(0, 100))} has a name that ToolHive cannot set`;
}

interface PackageKind {
  /**
   * The only registry from which ToolHive takes these packages, and its other addresses. Elsewhere, the same name means
   * another package.
   */
  registries?: readonly string[];
  source: (each: Package) => string;
}

const image: PackageKind = { source: imageOf };

const bundle: PackageKind = {
  source: ({ identifier, fileSha256 }) => `mcpb://${identifier}@sha256-${hashIn(fileSha256)}`,
};

/** Only the hash decides what runs, and never the web server. */
function bundleProblem({ identifier, fileSha256 }: Package): string | undefined {
  if (URL.parse(identifier)?.protocol !== 'https:')
    return `the bundle ${identifier.slice(0, 200)} is not at an https URL`;
  if (fileSha256 === undefined)
    return `the bundle ${identifier.slice(0, 200)} has no fileSha256, so anyone could replace it`;
  return /^[0-9a-f]{64}$/.test(hashIn(fileSha256))
    ? undefined
    : `the fileSha256 of the bundle ${identifier.slice(0, 200)} is not a SHA-256`;
}

/** Some authors write the name of the algorithm too. */
function hashIn(text = ''): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^sha-?256[:-]/, '');
}

/** The registry, and the pages that show its packages. */
const npmRegistries = [
  'https://registry.npmjs.org',
  'https://registry.npmjs.com',
  'https://www.npmjs.com',
  'https://npmjs.com',
];

const packageKinds: Record<string, PackageKind | undefined> = {
  npm: { registries: npmRegistries, source: (each) => packageUrl('npx', each) },
  go: { registries: ['https://proxy.golang.org'], source: (each) => packageUrl('go', each) },
  pypi: {
    registries: ['https://pypi.org', 'https://www.pypi.org'],
    source: (each) => packageUrl('uvx', each),
  },
  mcpb: bundle,
  dxt: bundle,
  oci: image,
  docker: image,
};

function packageUrl(scheme: string, { identifier, version }: Package): string {
  // Some publishers repeat the version in the identifier.
  const isThere = version === undefined || identifier.endsWith(`@${version}`);
  return `${scheme}://${identifier}${isThere ? '' : `@${version}`}`;
}

/** The other addresses of Docker Hub. */
const dockerHosts: ReadonlySet<string> = new Set([
  'hub.docker.com',
  'index.docker.io',
  'registry-1.docker.io',
  'registry.hub.docker.com',
]);

/** The reference is the identifier. Earlier schemas have separate fields for the host and the version. */
function imageOf({ identifier: given, version, registryBaseUrl }: Package): string {
  const identifier = given.replace(/^(?:oci|docker|https):\/\//, '');
  const [first = ''] = identifier.split('/');
  const base = URL.parse(registryBaseUrl ?? '')?.host;
  const host = base !== undefined && dockerHosts.has(base) ? 'docker.io' : base;
  const isWhole = host === undefined || /[.:]|^localhost$/.test(first);
  const reference = isWhole ? identifier : `${host}/${identifier}`;
  if (version === undefined || /:[^/]*$/.test(reference)) return reference;
  return `${reference}${version.startsWith('sha256:') ? '@' : ':'}${version}`;
}

function isFrom(base: string | undefined, registries: readonly string[] = []): boolean {
  return base === undefined || registries.includes(URL.parse(base)?.origin ?? '');
}

/** The earlier names of `streamable-http`, and those of other programs. */
const streamable: ReadonlySet<string> = new Set(['http', 'streamable', 'streamablehttp']);

function transportOf(type: string): string {
  const bare = type.trim().toLowerCase();
  return streamable.has(bare.replace(/[-_ ]/g, '')) ? 'streamable-http' : bare;
}

/** The command line, as far as the description specifies it. The user must provide the other words. */
function wordsOf(args: readonly Argument[]): { words: string[]; asked: string[] } {
  const words: string[] = [];
  const asked: string[] = [];
  for (const arg of args) {
    const value = valueOf(arg);
    if (value !== undefined && isFlag(arg)) words.push(...flagOf(arg, value));
    else if (value === undefined) asked.push(askedOf(arg));
    else if (arg.name === undefined || arg.type === 'positional') words.push(value);
    else if (value === '') words.push(arg.name);
    else words.push(...(arg.name.startsWith('--') ? [`${arg.name}=${value}`] : [arg.name, value]));
  }
  return { words, asked };
}

function askedOf(arg: Argument): string {
  const name = arg.name ?? arg.valueHint ?? 'argument';
  return `${name}${arg.isRequired ? ' (required)' : ''}: ${describe(arg)}`;
}

type Flag = Argument & { name: string };

function isFlag(arg: Argument): arg is Flag {
  return arg.format === 'boolean' && arg.name !== undefined && arg.type !== 'positional';
}

/**
 * A flag that is set is written alone, because most programs refuse a value for it. One that is off by default is left
 * out, but an author who turns a flag off means a flag that is otherwise on.
 */
function flagOf({ name, value: fixed }: Flag, value: string): string[] {
  const word = value.toLowerCase();
  if (word === 'true') return [name];
  if (word === 'false' && fixed === undefined) return [];
  return name.startsWith('--') ? [`${name}=${value}`] : [name, value];
}

function variableOf(input: NamedInput): object {
  const value = valueOf(input);
  const open = openVariables(input);
  return {
    name: input.name,
    description: describe(input),
    required: input.isRequired || open.some(({ isRequired }) => isRequired),
    secret: input.isSecret || open.some(({ isSecret }) => isSecret),
    ...(value === undefined ? {} : { default: value }),
  };
}

/** The port that the server listens on, by the address of its transport. */
function portOf({ transport, packageArguments, environmentVariables }: Package): number | undefined {
  if (transport?.url === undefined) return undefined;
  const values: Variables = { ...transport.variables };
  for (const { valueHint, name, ...rest } of [...packageArguments, ...environmentVariables] as Argument[]) {
    for (const word of [valueHint, name, name?.replace(/^-+/, '')])
      if (word !== undefined) values[word] = rest;
  }
  const url = URL.parse(fill(transport.url, values));
  if (url === null) return undefined;
  // Some authors name the public address of their service, whose usual port says nothing about the server here.
  const usual = isLocal(url.hostname) ? (url.protocol === 'https:' ? 443 : 80) : undefined;
  return Number(url.port) || usual;
}

const isLocal = (host: string): boolean =>
  host === 'localhost' || host === '0.0.0.0' || host.startsWith('127.') || /^\[::1?\]$/.test(host);

const remoteTransports: ReadonlySet<string> = new Set(['streamable-http', 'sse']);

/** Without a type, the path shows the older transport. */
function remoteTransportOf({ type, url }: Remote): string {
  if (type !== undefined) return transportOf(type);
  return /\/sse\/?(?:\?|$)/.test(url) ? 'sse' : 'streamable-http';
}

/** The members that a remote decides in its entry. */
interface RemoteEntry {
  url: string;
  transport: string;
  headers: object[];
  url_variables?: object[];
}

/** A remote server's entry, or the reason why it cannot be one. A URL without variables is preferred. */
export function remoteOf({ remotes }: ServerJson): RemoteEntry | string | undefined {
  const known = remotes.usable
    .map((remote) => ({
      ...remote,
      type: remoteTransportOf(remote),
      url: fill(remote.url, remote.variables),
    }))
    .map((remote) => ({ ...remote, open: namesIn(remote.url) }))
    .filter(({ type }) => remoteTransports.has(type))
    .filter(({ open, variables }) => open.every((name) => Object.hasOwn(variables, name)))
    .toSorted((one, other) => one.open.length - other.open.length);
  const fixed = known.filter(({ open }) => open.length === (known[0]?.open.length ?? 0));
  const best = fixed.find(({ type }) => type === 'streamable-http') ?? fixed[0];
  if (best === undefined) {
    const [problem] = remotes.problems;
    if (problem !== undefined) return `one of its remotes is invalid: ${problem}`;
    const types = remotes.usable.map(remoteTransportOf);
    if (types.length === 0) return undefined;
    const unknown = types.every((type) => !remoteTransports.has(type));
    return unknown ? `ToolHive has no transport ${types.join(', ')}` : 'its URL depends on user input';
  }
  const { open, variables } = best;
  return {
    url: best.url,
    ...(open.length === 0
      ? {}
      : {
          url_variables: open.map((name) =>
            urlVariableOf(name, variables[name] ?? { isRequired: true, isSecret: false }),
          ),
        }),
    transport: best.type,
    headers: best.headers.map(headerOf),
  };
}

function urlVariableOf(name: string, variable: Variables[string]): object {
  const { description = '', choices } = variable;
  return { name, description, ...(choices === undefined ? {} : { choices }) };
}

function namesIn(url: string): string[] {
  return [...new Set([...url.matchAll(braces)].map(([, name = '']) => name))];
}

function headerOf(given: Remote['headers'][number]): object {
  const input = withDeclarations(given);
  return { ...variableOf(input), ...(input.choices === undefined ? {} : { choices: input.choices }) };
}

/**
 * A header with declarations of all names in its value. No server expects a name in braces, and the value of a name without a
 * declaration can be a credential.
 */
function withDeclarations(input: NamedInput): NamedInput {
  const { value, default: fallback, isRequired, variables } = input;
  const declared = namesIn(value ?? fallback ?? '').map((name) => [name, { isRequired, isSecret: true }]);
  return { ...input, variables: { ...(Object.fromEntries(declared) as Variables), ...variables } };
}

/** The value of an input, if the user does not have to provide it. */
function valueOf(input: Input): string | undefined {
  const given = givenOf(input);
  return given === undefined || openVariables(input).length > 0 ? undefined : fill(given, input.variables);
}

/** No server expects a single name in braces, so without its declaration, the user's value replaces the name. */
function givenOf({ value, default: fallback, variables }: Input): string | undefined {
  const [, name] = /^\{([\w-]+)\}$/.exec(value ?? '') ?? [];
  return name === undefined || Object.hasOwn(variables, name) ? (value ?? fallback) : fallback;
}

const braces = /\{([\w-]+)\}/g;

/** Replaces variable names with their values. Unknown names stay. */
function fill(template: string, variables: Variables): string {
  return template.replace(braces, (word, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return variable?.value ?? variable?.default ?? word;
  });
}

/** The variables in an input's value that only the user knows. */
function openVariables(input: Input): Variables[string][] {
  const { variables } = input;
  const names = [...(givenOf(input) ?? '').matchAll(braces)].map(([, name = '']) => name);
  return names
    .filter((name) => Object.hasOwn(variables, name))
    .flatMap((name) => variables[name] ?? [])
    .filter((variable) => (variable.value ?? variable.default) === undefined);
}

/** The complete description of an input for the user who must provide it. */
function describe(input: Input): string {
  return [
    input.description ?? '',
    input.value !== undefined && openVariables(input).length > 0 ? `Written as ${input.value}.` : '',
    input.placeholder === undefined ? '' : `For instance ${input.placeholder}.`,
    input.choices === undefined ? '' : `One of ${input.choices.join(', ')}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
