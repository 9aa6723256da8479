import { withoutSequences } from '@toolhive/contract/printable';
import { moduleBeside } from './beside-script.ts';
import { installing, missingInPython, missingProgram, startsProgram } from './missing-programs.ts';
import { fileFlags, missingVariables } from './missing-variables.ts';
import { isPublishable, loopbackRedirect } from './sign-in-link.ts';

/** Why a server ended, as far as its output tells. */
export interface Cause {
  /** The line with the cause. */
  line: string;
  /** The user's fix, as a phrase that continues "to fix it,". */
  fix?: string;
}

/** A known error message. Only plain names and paths are taken from the line, because a server writes it. */
interface Complaint {
  pattern: RegExp;
  /** Gets the groups of the pattern and the whole output. Undefined if the line is none of this kind after all. */
  fix: (groups: string[], output: string, known: KnownServer) => string | undefined;
  /** A line that says more, if the output contains one. */
  better?: RegExp;
}

/** What is known about a server besides its output. */
export interface KnownServer {
  /** The name of its workload. */
  name?: string;
  /** When its version was published, as RFC 3339. */
  publishedAt?: string | undefined;
  /** The Python packages that the user has added. */
  pythonWith?: readonly string[] | null | undefined;
  /** The arguments and the values of variables that the user has passed to it. */
  given?: readonly string[];
  /** The command that runs its program once with the same arguments, if it has any. */
  once?: string | undefined;
  /** The day whose Python packages the user has chosen. */
  pythonExcludeNewer?: string | null | undefined;
  /** The source that it runs from. */
  image?: string;
  /** Whether it comes from the Python package index, so that further packages can be installed with it. */
  isPython?: boolean;
  /** The local ports that it reaches at its own loopback address, so that it cannot listen there. */
  localPorts?: readonly number[] | null | undefined;
  /** Its own ports that a browser on this machine can reach. */
  publishedPorts?: readonly number[] | undefined;
  /** Whether its permissions allow it to reach any host at all. */
  hasNetwork?: boolean;
}

/** The dependencies of the day after the server was published, which its author has used. */
function ofItsTime({ publishedAt, pythonExcludeNewer }: KnownServer): string | undefined {
  const published = Date.parse(publishedAt ?? '');
  if (Number.isNaN(published) || pythonExcludeNewer) return undefined;
  const day = new Date(published + DAY_MS).toISOString().slice(0, 10);
  return `run it with --exclude-newer ${day}, because its dependencies have changed since it was published`;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Whether a dependency failed while the modules of the server were loaded, before the server did anything. */
function breaksWhileLoading(output: string): boolean {
  const trace = output.slice(output.lastIndexOf('Traceback (most recent call last)'));
  const frames = [
    ...trace.matchAll(
      /^ +File "[^"\n]{0,300}\/site-packages\/([\w.-]{1,100})(?:\/[^"\n]{1,300})?", line \d+, in (\S+)$/gm,
    ),
  ];
  const [, own] = frames[0] ?? [];
  const [, last] = frames.at(-1) ?? [];
  return last !== own && frames.every(([, name, place]) => name !== own || place === '<module>');
}

/** Whether version 1 of the Python SDK is chosen already. */
const hasOlderSdk = ({ pythonWith }: KnownServer): boolean =>
  (pythonWith ?? []).some((requirement) => /^mcp\b/.test(requirement));

const path = String.raw`(\/[\w./@+-]{1,200})`;
const host = String.raw`([a-z0-9](?:[\w-]{0,62}\.){0,8}[\w-]{0,62})`;

/** An npm package that the server uses, and cannot change. */
const dependency = String.raw`\/opt\/toolhive\/package\/node_modules\/((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})`;

/** A question for which a server waits. */
const question =
  /\?\s?[[(](?:y|yes)[\])]\s?:?$|[[(](?:y|yes)\/(?:n|no)[\])]\s?[:?]?$|\b(?:password|passphrase|passcode|user ?name|api key|access token)(?: for \S{1,100})?\s?[:?]$|^(?:please )?(?:enter|type|paste|provide) .{1,100}[:>]$|\bpress (?:any key|enter|return)\b/i;

/** The words with which a program says that it goes on as another process. */
const leaving = /\b(?:started|running|runs|continues) in the background\b|\bdaemoni[sz](?:ed|ing)\b/i;

/** Whether the output ends with such a line. A line before others does not stop a server. */
const endsWith = (output: string, pattern: RegExp): boolean =>
  pattern.test(output.slice(output.lastIndexOf('\n') + 1));

/** The word of a command that signs a user in. */
const signingIn = '(?:--?)?(?:auth(?:enticate|orize)?|log-?in|sign-?in|oauth-setup|setup-oauth)';

/** Several lines and variables belong together, so `missingVariables` reads them. */
const variables: Complaint = { pattern: /(?!)/, fix: () => undefined };

/** In the order of preference: the first that matches any line. */
const complaints: readonly Complaint[] = [
  {
    pattern:
      /'Server' object has no attribute|cannot import name '\w+' from 'mcp|No module named 'mcp\.|module 'mcp[.\w]*' has no attribute|FastMCP\S* got an unexpected keyword/,
    fix: (_groups, output, known) => {
      if (hasOlderSdk(known)) return ofItsTime(known);
      const isVeryOld = /cannot import name 'McpError' from 'mcp\.server'/.test(output);
      return `run it with --with 'mcp<${isVeryOld ? '1.2' : '2'}', because it was written for version 1 of the Python SDK`;
    },
  },
  {
    pattern: /No module named 'fastmcp\.|cannot import name '\w+' from 'fastmcp/,
    fix: (_groups, _output, known) =>
      ofItsTime(known) ??
      "run it with --with 'fastmcp<3', because it was written for an earlier version of FastMCP",
  },
  {
    // Python names the first part that is missing. So the package is there, unless several packages share its name.
    pattern: /No module named '(?!google\.|azure\.|ruamel\.)([A-Za-z]\w{0,100})\.[\w.]{1,100}'/,
    fix: ([name = ''], output, known) =>
      output.includes(`/site-packages/${name}/`) || known.publishedAt !== undefined
        ? (ofItsTime(known) ??
          `run it with the version of ${name.replaceAll('_', '-')} that it was written for: --with '${name.replaceAll('_', '-')}<VERSION'`)
        : undefined,
  },
  {
    pattern: /cannot import name '\w+' from '[A-Za-z][\w.]{0,100}' \(\/\S{0,300}\/site-packages\//,
    fix: (_groups, _output, known) => ofItsTime(known),
  },
  {
    pattern: /AttributeError: module '[A-Za-z][\w.]{0,100}' has no attribute /,
    fix: (_groups, output, known) => (output.includes('/site-packages/') ? ofItsTime(known) : undefined),
  },
  {
    pattern: /^(?:TypeError|AttributeError|ImportError|NameError|[\w.]{1,60}\.Pydantic\w{1,40}Error): /,
    fix: (_groups, output, known) => (breaksWhileLoading(output) ? ofItsTime(known) : undefined),
  },
  {
    pattern: /\bNoKeyringError\b/,
    fix: () =>
      'run it with --with keyrings.alt, because a sandbox has no keyring. This package keeps all passwords in a plain file in the server’s home directory',
  },
  {
    pattern: /\bon Python < (3\.\d{1,2})\b/,
    fix: ([version = '']) =>
      `run it with --python ${version}, because it was not tested with an older Python`,
  },
  {
    pattern: /No module named '([A-Za-z_]\w{0,100})/,
    fix: ([name = ''], _output, known) => moduleBeside(name, known),
  },
  {
    // Version 1 of the Python SDK brought these along, and servers use them without saying so.
    pattern:
      /No module named '(?:httpx|httpx_sse|sse_starlette|starlette|uvicorn|pydantic_settings|multipart|jsonschema)'/,
    fix: (_groups, _output, known) =>
      hasOlderSdk(known)
        ? undefined
        : "run it with --with 'mcp<2', because it needs a package that came with version 1 of the Python SDK",
  },
  {
    // The server is an optional part of the package.
    pattern: /No module named '(mcp|fastmcp)'/,
    fix: ([name = ''], _output, { image = '' }) => {
      const [, published] = /^uvx:\/\/([\w.-]{1,100})@/.exec(image) ?? [];
      const extra =
        published === undefined ? '' : `, or uvx '${published}[mcp]' if its README names such an extra`;
      return `run it with --with ${name}${extra}, because its package does not require ${name} itself`;
    },
  },
  {
    // Most of these came with an earlier version of a dependency. Packages that share a name did not.
    pattern: /No module named '([A-Za-z][\w-]{0,100})/,
    fix: ([name = ''], _output, known) =>
      (['google', 'azure', 'ruamel'].includes(name) ? undefined : ofItsTime(known)) ??
      `run it with --with ${name.replaceAll('_', '-')}, or the name of the package that contains ${name}`,
  },
  {
    pattern:
      /Could not load the "sharp" module|Could not locate the bindings file|No native build was found|Cannot find module '[^']*\.node'/,
    fix: nativeModule,
  },
  {
    pattern:
      /Executable doesn't exist at|Could not find (?:Google )?Chrome|(?:Chromium|Chrome) distribution .* is not found|No usable browser/,
    fix: () =>
      "install Chromium on this machine, and set the path of the browser with the server's argument or environment variable",
  },
  {
    pattern:
      /(?:error while loading shared libraries: |\b)([\w+-]{1,100}\.so(?:\.[\d.]{1,20})?): cannot open shared object file/,
    fix: ([library]) => `install the package of your system that contains ${library}`,
  },
  {
    pattern:
      /(?:unable to load|no|invalid|cannot load|could not load|failed to load) (?:the )?(?:in-cluster |cluster |kube(?:rnetes)? ?)(?:configuration|config)|no configuration has been provided|no current-context is set|kubeconfig.*(?:not found|not set|no such file|required)|Unable to load kubeconfig/i,
    fix: () => `run it with a kubeconfig file: ${fileFlags('KUBECONFIG')}`,
  },
  {
    pattern: missingProgram,
    fix: (names, _output, { isPython = false }) =>
      installing(names.find((name) => name !== undefined) ?? '', isPython),
  },
  {
    pattern: missingInPython,
    fix: ([name = ''], output, { isPython = false }) =>
      startsProgram(output) ? installing(name, isPython) : undefined,
  },
  {
    pattern:
      /Unable to locate (?:AWS )?credentials|NoCredentialsError|CredentialsProviderError|Could not load credentials from any providers|failed to (?:refresh|retrieve) (?:cached )?credentials/i,
    fix: () =>
      'if the server may use your AWS account, run it with -v DIR:/data/aws:ro -e AWS_SHARED_CREDENTIALS_FILE=/data/aws/credentials -e AWS_CONFIG_FILE=/data/aws/config',
  },
  {
    pattern: /You must specify a region|NoRegionError|Region is missing|Missing region in config/,
    fix: () => 'run it with -e AWS_REGION=REGION',
  },
  {
    pattern:
      /Could not load the default credentials|default credentials were not found|DefaultCredentialsError|could not find default credentials|gcloud auth (?:application-default )?login/i,
    fix: () =>
      `if the server may use your Google Cloud account, run it with ${fileFlags('GOOGLE_APPLICATION_CREDENTIALS')}`,
  },
  variables,
  {
    // A command that runs once, and is not the one that starts the server.
    pattern: new RegExp(
      [
        String.raw`\b(?:npx|uvx|bunx|pnpm dlx|pipx run|uv run|(?:npm|yarn|pnpm)(?: run)?|node|python3?)\s(?:[\w@./:=-]{1,200}\s){0,6}?(${signingIn})(?![\w-])`,
        String.raw`\brun:? ['"\x60]?(?!(?:the|this|an?|your|its) )[\w@./-]{1,100} (${signingIn})(?![\w-])`,
        String.raw`\b(?:run|use|with|pass|try|execute)\b.{0,60}?\s['"\x60]?(--${signingIn})(?![\w-])`,
        String.raw`\b(?:run|use|with|pass|try|execute)\b.{0,60}?['"\x60](${signingIn})['"\x60]`,
      ].join('|'),
      'i',
    ),
    fix: (words, _output, { name, given = [] }) => {
      const word = words.find((each) => each !== undefined) ?? '';
      return name === undefined || given.includes(word)
        ? undefined
        : `if this is its command for a sign-in, run thv exec ${name} -- ${word}`;
    },
  },
  {
    pattern: /(?:EADDRINUSE|address already in use)(?:.{0,100}?:(\d{1,5})\b)?/i,
    fix: ([port], _output, { localPorts }) =>
      localPorts?.includes(Number(port)) === true
        ? `let the server listen on another port, because port ${port} leads to this machine (--allow-local-port)`
        : 'name the port that the server listens on with --target-port',
  },
  {
    pattern: new RegExp(
      String.raw`(?:^|[\s:'"\x60(=])${path}['"\x60)]?:? (?:does not exist|doesn't exist|not found|cannot be found|is not a (?:valid )?(?:directory|(?:git )?repository)|is not accessible|no such file or directory)\b`,
      'i',
    ),
    fix: mount,
  },
  {
    pattern: new RegExp(
      String.raw`(?:does not exist|doesn't exist|not found|cannot (?:find|access)|no such file or directory|not a (?:valid )?(?:directory|(?:git )?repository)): ?['"\x60]?${path}`,
      'i',
    ),
    fix: mount,
  },
  {
    // The same in other languages in which packages speak.
    pattern:
      /(?:不存在|找不到|未找到|見つかりません|存在しません|찾을 수 없|не найден|не существует|no existe|no se encontr|não existe|não encontrad|introuvable|n'existe pas|nicht gefunden|existiert nicht|non trovat).{0,120}?\/home\/server\/(\.?[\w@+-][\w./@+-]{0,200})|\/home\/server\/(\.?[\w@+-][\w./@+-]{0,200})['"`]?[:：]? ?(?:文件|目录)?(?:不存在|找不到|未找到|が見つかりません|не найден|не существует|no existe|não existe|introuvable|nicht gefunden)/i,
    fix: (places) => atHome(places.find((place) => place !== undefined) ?? ''),
  },
  {
    pattern:
      /(?:not found|no such file|does not exist|doesn't exist|missing|cannot find|can't find|please place)\b.{0,120}?\/home\/server\/(\.?[\w@+-][\w./@+-]{0,200})|\/home\/server\/(\.?[\w@+-][\w./@+-]{0,100})['"`]?:? (?:was )?(?:not found|does not exist|doesn't exist|is missing)/i,
    fix: (places) => atHome(places.find((place) => place !== undefined) ?? ''),
  },
  {
    pattern: /(?:specified|allowed)[ -]director(?:y|ies)|directory path|\[?<?directory>?\]?(?:\.\.\.)?$/i,
    fix: mountNamed,
  },
  {
    pattern: new RegExp(
      String.raw`(?:ENOENT: no such file or directory, \w+ '|No such file or directory: '|open |stat )${path}(?:'|: no such file)`,
    ),
    fix: mount,
  },
  {
    pattern: new RegExp(
      String.raw`(?:ECONNREFUSED|connection refused|connect(?:ion)?(?: call)? (?:error|failed)).{0,100}?(?:\blocalhost|\b127\.0\.0\.1|::1)\]?['"]?(?::|, )(\d{1,5})|(?:\blocalhost|\b127\.0\.0\.1|::1)\]?:(\d{1,5}).{0,100}?(?:ECONNREFUSED|connection refused)`,
      'i',
    ),
    fix: (ports) => {
      const port = ports.find((each) => each !== undefined);
      // Without the flag for the port, which the server chose: only the user knows whether it should reach a program there.
      return `start the program that the server expects at port ${port}. localhost is the sandbox itself, and leads to this machine only at ports that you allow (thv permission allow --help)`;
    },
  },
  {
    pattern: new RegExp(
      String.raw`(?<![\w/])(?:ENOTFOUND|EAI_AGAIN|lookup|(?:could not |cannot )?resolve(?: host| address)?(?::|(?=[\s'"]))|host=)\s*['"]?${host}`,
      'i',
    ),
    fix: ([name = '']) => reaching(name),
  },
  {
    pattern:
      /ENOTFOUND|EAI_AGAIN|getaddrinfo|Name or service not known|Temporary failure in name resolution|no such host/,
    fix: (_groups, _output, { hasNetwork = false }) =>
      hasNetwork
        ? 'check that this machine can resolve the names of the hosts that the server needs'
        : 'check that its permission profile allows a network (--permission-profile network)',
  },
  {
    pattern: new RegExp(
      String.raw`https?:\/\/${host}(?::\d{1,5})?(?:\/\S{0,200})?\s.{0,40}\bfetch failed|\bfetch failed\b.{0,80}?https?:\/\/${host}`,
      'i',
    ),
    fix: (names) => reaching(names.find((name) => name !== undefined) ?? ''),
  },
  {
    pattern: new RegExp(
      String.raw`(?:EROFS|[Rr]ead-only file system)\b(?:.{0,200}?${dependency})?|\bread-only or non-writable`,
    ),
    fix: ([name], output) => writtenDependency(name, output),
  },
  {
    // Messages over several lines, and with headers, as in other protocols over standard output.
    pattern: /^\[stdout\] (?:\s*"jsonrpc":\s*"2\.0",?|Content-Length: \d{1,10})$/,
    fix: () => 'ask its author to write each message on one line, as MCP requires',
  },
  {
    pattern: /Argument list too long|\bE2BIG\b/,
    fix: () =>
      'put its longest arguments, variables, or secrets into a file, and mount the file, because a program receives at most 128 KiB in each',
  },
  {
    pattern: /EMFILE|too many open files/i,
    fix: () => 'allow it more open files with --open-files',
  },
  {
    pattern:
      /spawn \S{1,200} EAGAIN|pthread_create|can't start new thread|fork\b.*Resource temporarily unavailable/i,
    fix: () => 'allow it more processes and threads with --pids',
  },
  {
    pattern: /ENOSPC|No space left on device/i,
    fix: () => 'allow it larger files with --disk, or mount a directory for them with --volume',
  },
  {
    // An address with its scheme counts in more sentences: a port alone can be that of a dashboard.
    pattern:
      /\b(?:running|listening|available|started|serving|listens?)\b.{0,80}https?:\/\/(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\]):(\d{1,5})\b|\b(?:server|daemon|mcp|http)\b.{0,40}\b(?:listening|listens|running|started)\b.{0,20}(?:(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::1?\]|\s\*?):|\bport:? )(\d{2,5})\b/i,
    fix: (ports) => {
      const port = ports.find((each) => each !== undefined) ?? '';
      return `if it serves HTTP instead of stdio, run it with --transport streamable-http --target-port ${port}`;
    },
  },
  {
    pattern: loopbackRedirect,
    fix: ([port], _output, { publishedPorts }) => {
      if (publishedPorts?.includes(Number(port)))
        return 'open the address that the server writes at its start, and sign in within an hour';
      if (isPublishable(port))
        return `run it with --publish ${port}, and sign in at the address that the server then writes, because a browser cannot reach it otherwise`;
      return 'sign in once with the same command outside of ToolHive, and mount the directory in which the server then keeps its tokens with --volume, because the answer of the browser cannot reach it in isolation';
    },
  },
  {
    pattern: question,
    fix: (_groups, output) =>
      endsWith(output, question)
        ? 'pass the answer in an argument or an environment variable of the server, because servers have no terminal'
        : undefined,
  },
  {
    pattern:
      /\bnot a (?:tty|terminal)\b|\bENOTTY\b|Inappropriate ioctl for device|requires? an? (?:interactive )?(?:tty|terminal)\b|raw mode is not supported|setRawMode is not a function|EOF when reading a line/i,
    fix: () =>
      'start it with the arguments that it has for use without a terminal, because servers have no terminal',
  },
  {
    pattern: leaving,
    fix: (_groups, output) =>
      endsWith(output, leaving) ? 'start it with the argument that keeps it in the foreground' : undefined,
  },
  {
    pattern:
      /the following (?:required )?arguments are (?:required|missing)|missing required argument|required option|^usage:/i,
    fix: () => 'pass the arguments of the server after --',
    better: /^(?:\S{1,100}: )?error: \S/i,
  },
  {
    // Many servers name neither the variable nor the argument.
    pattern:
      /\b(?:api[ -]?key|token|credentials?|password|secret|url|organi[sz]ation|environment variables?)\b.{0,30}?\b(?:(?:is|are) (?:required|missing|not)|not (?:set|found|provided|configured|specified)|(?:required|missing)\b)|\b(?:missing|required|no|provide (?:a|an|your)) (?:\w+ ){0,3}(?:api[ -]?key|token|credentials)\b/i,
    fix: (_groups, _output, { image }) =>
      image === '' // a remote server, which has neither
        ? undefined
        : 'pass it as the README of the server says, with -e NAME=VALUE, with --secret NAME,target=NAME, or as an argument after --',
  },
];

/** How much of the output is searched. Servers write it, and the time of some patterns grows with its square. */
const maxChars = 64 * 1024;
const maxLines = 100;
const maxLineChars = 500;
const maxAddressChars = 4_000;

/** The line in a server's output that names the cause of its end. Undefined without output. */
export function causeOf(output: string, server: KnownServer = {}): Cause | undefined {
  const lines = linesOf(output);
  const known = knownCause(lines, server);
  if (known !== undefined) return known;
  const line = plainCause(lines);
  return line === undefined ? undefined : { line: shortened(line) };
}

/** The same for a server that may run: only a line with a known fix counts. */
export function complaintIn(output: string, server: KnownServer = {}): Cause | undefined {
  return knownCause(linesOf(output), server);
}

function linesOf(output: string): string[] {
  const recent = withoutSequences(output.slice(-maxChars));
  return (
    recent
      .split('\n')
      .slice(-maxLines)
      .map((line) => withinLimit(line).trimEnd())
      // Pydantic's last line only has a link.
      .filter((line) => line !== '' && !/^\s*For further information visit /.test(line))
  );
}

/** An address with many scopes is longer than the limit, and tells at its end where the answer goes. */
function withinLimit(line: string): string {
  const start = line.slice(0, maxLineChars);
  const [redirect] = loopbackRedirect.exec(line.slice(0, maxAddressChars)) ?? [];
  return redirect === undefined || start.includes(redirect) ? start : `${start.slice(0, 300)}…${redirect}`;
}

function knownCause(lines: readonly string[], server: KnownServer): Cause | undefined {
  const recent = lines.join('\n');
  for (const complaint of complaints) {
    if (complaint === variables) {
      const missing = missingVariables(lines.filter((line) => !isSource(line)));
      if (missing !== undefined) return { line: shortened(missing.line), fix: missing.fix };
      continue;
    }
    const { pattern, fix, better } = complaint;
    // The first line of Node.js and the last line of Python contain the message. Others repeat it in source code.
    const line = lines.findLast((candidate) => pattern.test(candidate) && !isSource(candidate));
    const groups = line === undefined ? undefined : pattern.exec(line)?.slice(1);
    const text = groups === undefined ? undefined : fix(groups, recent, server);
    if (line === undefined || text === undefined) continue;
    const stated = better && lines.findLast((candidate) => better.test(candidate));
    return { line: shortened(stated ?? line), fix: forSource(text, server) };
  }
  return undefined;
}

/** No flag adds a package to a bundle, so only its author can. */
function forSource(fix: string, { image = '' }: KnownServer): string {
  if (!image.startsWith('mcpb://')) return fix;
  const [, requirement] = /^run it with (?:[^:]{1,200}: )?--with '?([\w.<>=-]{1,100})/.exec(fix) ?? [];
  const [, reason = ''] = /(, because [^']*)$/.exec(fix) ?? [];
  if (requirement !== undefined) return `ask the author of the bundle to require ${requirement}${reason}`;
  return fix.startsWith('run it with --exclude-newer ')
    ? `ask the author of the bundle to name the versions of its dependencies${reason}`
    : fix;
}

function reaching(name: string): string {
  return isExampleHost(name)
    ? `replace the example host ${name} in the settings of the server by a real one`
    : `check that its network rules allow ${name}, and that this machine can resolve the name`;
}

/** A host of documentation, or a name that only the author's network knows. */
function isExampleHost(name: string): boolean {
  return (
    /(?:^|\.)example(?:\.(?:com|net|org))?$|\.(?:example|invalid|test)$|^your[-_.]|^(?:host|hostname|server)$/i.test(
      name,
    ) || /^your[\w-]*\./i.test(name)
  );
}

/** Lines of stack traces, of programs, of the properties of an error, and of flags that a help text describes. */
const isSource = (line: string): boolean =>
  /^\s+(?:at |File "|\d+ \||\^|throw |raise )|^\s{4,}\S.*[;{(]$|^\s+\w+: (?:'[^']*'|-?\d+),?$/.test(line) ||
  /^\s+(?:-\w,? )?--[\w-]{1,60}(?:[ =]\S{1,60})? {2,}\S/.test(line);

function plainCause(lines: readonly string[]): string | undefined {
  const traceback = lines.findLastIndex((line) => line.startsWith('Traceback (most recent call last)'));
  const last = lines.findLastIndex((line, index) => index > traceback && /^[\w.]+(?::|$)/.test(line));
  if (traceback !== -1 && last !== -1) return exceptionAt(last, lines);
  const go = lines.findLast((line) => /^(?:panic|fatal error): /.test(line));
  if (go !== undefined) return go;
  const trace = lines.findLastIndex((line) => /^\s+at .+/.test(line));
  const node = lines.findLast(
    (line, index) => index <= trace && /^(?:Uncaught )?\w*(?:Error|Exception)\b.*: /.test(line),
  );
  if (node !== undefined) return node;
  const worded = lines.findLast(
    (line) =>
      !isSource(line) &&
      /error|fatal|fail|missing|required|must|cannot|can't|could not|invalid|not set|not found|unable/i.test(
        line,
      ),
  );
  return worded ?? lines.findLast((line) => !/^Node\.js v|^\s*[{}]/.test(line)) ?? lines.at(-1);
}

/** The last line of an exception in Python. Pydantic names the field there, the model before, and the problem after it. */
function exceptionAt(index: number, lines: readonly string[]): string | undefined {
  const [model = '', field, problem = ''] = lines.slice(Math.max(0, index - 1), index + 2);
  return /\bvalidation error for \w+$/.test(model) && /^ {2}\S/.test(problem)
    ? `${model}: ${field}: ${problem.trim()}`
    : field;
}

/** Loaders of native modules, which appear in the output of every package that uses them. */
const loaders: ReadonlySet<string> = new Set(['bindings', 'node-gyp-build', 'prebuild-install', 'node-gyp']);

function nativeModule(_groups: string[], output: string): string {
  const packages = [...output.matchAll(/node_modules\/((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})\/(\w+)/g)].filter(
    ([, name = '']) => !loaders.has(name) && !name.startsWith('.'),
  );
  const built = packages.find(([, , folder = '']) => /^(?:build|lib|prebuilds|compiled)$/.test(folder));
  const found = output.includes('"sharp" module') ? 'sharp' : (built ?? packages.at(0))?.[1];
  return found === undefined
    ? 'run it with --allow-scripts and the name of the npm package whose native module is missing'
    : `run it with --allow-scripts ${found}, which builds its native module`;
}

/** A file that an install script writes, and that the server itself tries to write if the script did not run. */
function writtenDependency(named: string | undefined, output: string): string | undefined {
  const name = named ?? new RegExp(String.raw`^\s*${dependency}\/?$`, 'm').exec(output)?.[1];
  return name === undefined
    ? undefined
    : `run it with --allow-scripts ${name}, because its install script may write what the server cannot`;
}

/** Directories of a sandbox, which contain no files of the user. */
const ownPlaces = /^\/(?:opt\/toolhive|app|usr|home\/server|proc|sys|dev|tmp\/?$)(?:\/|$)/;

/** A path that the user has named is one of this machine, so the server can see it at the same place. */
function mount([place = '']: string[], output: string, { given = [] }: KnownServer): string | undefined {
  if (ownPlaces.test(place)) return undefined;
  if (given.some((value) => value === place || value.endsWith(`=${place}`)))
    return `mount it with --volume ${place}:${place}`;
  return `mount it with --volume ${output.includes(`directory ${place}`) ? 'DIR' : 'FILE'}:${place}`;
}

/**
 * A place in the home directory of the server, where most users have the same one. Of a file, the directory is mounted,
 * because servers write to it, too. The user chooses what to mount, because a server could name any place.
 */
function atHome(place: string): string | undefined {
  const parts = place.replace(/[.:,;]+$/, '').split('/');
  if (parts.includes('..')) return undefined;
  const isFile = parts.length > 1 && /.\.\w+$/.test(parts.at(-1) ?? '');
  const path = (isFile ? parts.slice(0, -1) : parts).join('/');
  return `mount your own files for this server with --volume DIR:/home/server/${path}`;
}

/** The most directories that one answer names. */
const maxMounts = 8;

/** The directories of this machine that the user has named and the server cannot see. */
function mountNamed(_groups: string[], output: string, { given = [] }: KnownServer): string {
  const named = given.filter(
    (value) => /^\/[\w./@+-]{1,200}$/.test(value) && !ownPlaces.test(value) && output.includes(value),
  );
  if (named.length === 0)
    return 'mount a directory and name it after --, for example --volume DIR:/projects -- /projects';
  const flags = [...new Set(named)].slice(0, maxMounts).map((place) => `--volume ${place}:${place}`);
  return `mount ${flags.length === 1 ? 'it' : 'them'} with ${flags.join(' ')}`;
}

const shortened = (line: string): string => line.trim().slice(0, 400);
