import { isSseUrl } from '@toolhive/contract/sse-url';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { containerPrograms, isContainerProgram, readDockerRun, withClientFlagsBehind } from './docker-run.ts';
import { readGoRun } from './go-run.ts';
import { readInstalled, readInstalledModule } from './installed-program.ts';
import { scriptIn, unnamedScript } from './local-path.ts';
import { otherLanguage, windowsProgram } from './other-languages.ts';
import { readOtherFlags, switches, valuesOf, withValues } from './other-flags.ts';
import { readNpmExec, readNpx, readUvx, withoutDashes } from './package-launchers.ts';
import { absolutePath } from './paths.ts';
import { aggregated } from './aggregators.ts';
import { behindBridge } from './bridges.ts';
import { toolNotes } from './entry-tools.ts';
import type { BridgedServer } from './bridges.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import {
  beforeScript,
  javaScript,
  nodeScript,
  readBun,
  readDeno,
  readDenoPackage,
  readEnvFiles,
  readNode,
  readPython,
  readTypeScript,
} from './script-launchers.ts';
import {
  findModule,
  isMcpRun,
  readMcpInstall,
  readMcpRun,
  readModule,
  readProjectTool,
  readUv,
} from './uv-run.ts';
import { addingPrograms, readAdded } from './client-add.ts';
import {
  powerShells,
  readShellText,
  severalPrograms,
  shells,
  textOfPowerShell,
  textOfShell,
} from './shell-command.ts';
import type { ShellText } from './shell-command.ts';
import { programOf, storeSecrets, unwrap } from './wrappers.ts';
import type { Unwrapped } from './wrappers.ts';
import { wordsIn } from './words.ts';

/** A program that starts servers. */
interface Launcher {
  /** The words with which its command lines begin. */
  words: readonly string[];
  /** Whether the following words start a server, where only some do. */
  accepts?: (words: readonly string[]) => boolean;
  /** Parses the words that follow. */
  read: (words: readonly string[], from: PastedFrom) => Pasted | Promise<Pasted>;
}

const python = beforeScript(/\.pyw?$/);

const launchers: readonly Launcher[] = [
  ...['npx', 'bunx', 'pnpm dlx', 'pnpx', 'yarn dlx', 'bun x'].map(launcher(readNpx)),
  ...['npm exec', 'npm x'].map(launcher(readNpmExec)),
  launcher((words, from) => readUvx(withoutDashes(words), from))('uvenv run'),
  ...['uvx', 'uv tool run', 'pipx run'].map(launcher(readUvx)),
  ...containerPrograms.flatMap((program) =>
    [`${program} run`, `${program} container run`].map(launcher(readDockerRun)),
  ),
  ...['python', 'python3', 'py'].flatMap((program) => [
    launcher(readPythonModule, ([module = '']) => module !== '')(`${program} -m`),
    launcher(readPythonModule, ([module = '']) => module !== '')(`${program} -u -m`),
    launcher(readPython, python)(program),
  ]),
  ...['node', 'nodejs'].map(launcher(readNode, nodeScript)),
  ...['tsx', 'tsx watch', 'ts-node', 'ts-node-esm'].map(launcher(readTypeScript, javaScript)),
  ...['bun run', 'bun'].map(launcher(readBun, javaScript)),
  launcher(readDeno)('deno run'),
  ...['deno x', 'dx'].map(launcher(readDenoPackage, (words) => words.length > 0)),
  launcher(readDeno, (words) =>
    /^npm:|\.[cm]?[jt]sx?$/.test(words.find((word) => !word.startsWith('-')) ?? ''),
  )('deno'),
  ...(['mcp', 'fastmcp'] as const).flatMap((program) =>
    [`${program} run`, `${program} dev`, `${program} dev inspector`].map(
      launcher(
        (words, from) => readMcpRun(program, words, from),
        (words) => isMcpRun([program, 'run', ...words]),
      ),
    ),
  ),
  ...(['mcp', 'fastmcp'] as const).map((program) =>
    launcher(
      (words, from) => readMcpInstall(program, words, from),
      (words) => words.some((word) => /\.(?:py(?::\w+)?|json)$/.test(word)),
    )(`${program} install`),
  ),
  launcher(
    readUv,
    ([first = '', ...rest]) => first === 'run' || (first.startsWith('-') && rest.includes('run')),
  )('uv'),
  ...['go run', 'go install'].map(launcher(readGoRun)),
  ...shells.map(launcher(readShell(textOfShell), (words) => textOfShell(words) !== undefined)),
  ...powerShells.map(launcher(readShell(textOfPowerShell), (words) => textOfPowerShell(words) !== undefined)),
  ...['poetry', 'pdm', 'rye', 'pipenv', 'hatch'].map((tool) =>
    launcher(readProjectTool(tool), (words) => words.includes('run'))(tool),
  ),
  ...['npm', 'pnpm', 'yarn'].map(
    launcher(readScriptOf, (words) => words.some((word) => word === 'run' || word === 'start')),
  ),
  ...addingPrograms.map((program) => launcher(readClientAdd(program))(`${program} mcp add`)),
];

function launcher(read: Launcher['read'], accepts?: Launcher['accepts']): (words: string) => Launcher {
  return (words) => ({ words: words.split(' '), read, ...(accepts === undefined ? {} : { accepts }) });
}

/** Whether words are a command line that starts a server with another program. */
export function isCommandLine(words: readonly string[]): boolean {
  const command = wholeCommandIn(words);
  if (command === undefined) return true; // its reader explains the mistake
  if (command.words.length === 0) return launcherOf(words) !== undefined; // incomplete, as its reader says
  const [program = '', verb = ''] = command.words;
  if (isContainerProgram(program) && /^[a-z]/.test(verb)) return true; // its reader explains the alternative
  if (remoteShells.test(programOf(command.words)) && verb !== '' && verb !== '--') return true; // likewise
  return launcherOf(command.words) !== undefined || behindBridge(command.words) !== undefined;
}

/** Translates a command line of another program. Throws `invalid`, if possible with the command to use instead. */
export async function readCommandLine(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { words, files, notes, refusal, ...outer } = commandIn(all);
  const directory = outer.directory === undefined ? from.directory : absolutePath(outer.directory, from);
  const behind = behindBridge(words, outer.env);
  if (behind !== undefined && 'url' in behind) return remoteOf(behind);
  const others = refusal ?? aggregated(words);
  if (others !== undefined) throw others;
  const found = launcherOf(words);
  if (found === undefined) {
    if (isContainerProgram(words[0] ?? '')) {
      const command = JSON.stringify([programOf(words), ...words.slice(1, 2)].join(' '));
      throw invalid(`${command} does not start a server that ToolHive can isolate`, {
        hint: containerHints.get(words[1] ?? '') ?? 'use docker run with its image',
      });
    }
    if (words.length === 0) throw missing(all);
    const other = otherLanguage(words) ?? windowsProgram(words);
    if (other !== undefined) throw other;
    const installed = isStarter(words) ? undefined : await readInstalled(words, { ...from, directory });
    if (installed === undefined) throw withoutExtension(words, { directory }) ?? notStarted(words);
    return withOuter(installed, await variablesOf(outer.env, files, { ...from, directory }), notes);
  }
  const env = await variablesOf(outer.env, files, { ...from, directory });
  const rest = withFlagsBehind(words).slice(found.words.length);
  const inner = { ...from, directory, env: { ...from.env, ...env }, program: words[0] };
  return withOuter(await found.read(rest, inner), env, notes);
}

/** What to use instead of other commands of container engines. */
const containerHints = new Map([
  [
    'mcp',
    'instead of a gateway, import its servers: docker mcp profile export PROFILE profile.yaml, then thv import profile.yaml',
  ],
  [
    'exec',
    'use docker run with its image, or the command behind the name of the container, such as npx PACKAGE',
  ],
]);

/** The variables that the outer programs of a command set and read. */
async function variablesOf(
  set: Readonly<Record<string, string>>,
  files: readonly string[],
  from: PastedFrom,
): Promise<Record<string, string>> {
  const read = await readEnvFiles(files, from);
  refuseEncrypted(read, files);
  return { ...read, ...set };
}

function withOuter(
  { request, notes }: Pasted,
  env: Readonly<Record<string, string>>,
  outer: readonly string[],
): Pasted {
  return { request: { ...request, env_vars: { ...env, ...request.env_vars } }, notes: [...outer, ...notes] };
}

/** The error for a script whose name does not tell its language. */
function withoutExtension(
  [word = '']: readonly string[],
  from: Pick<PastedFrom, 'directory'>,
): Error | undefined {
  const isPath = /^(?:~?\/|\.{1,2}\/)/.test(word) && (from.directory !== undefined || !word.startsWith('.'));
  return isPath ? unnamedScript(absolutePath(word, from)) : undefined;
}

/** Programs that install packages or run the files of a project. */
const general =
  /^(?:nix|brew|git|curl|socat|nc|ncat|(?:docker|podman)-compose|pip[\d.]*|virtualenv|nodemon|pm2|forever|concurrently|vite|next)$/;

/** Programs that serve an app of Python over HTTP. */
const appServers = /^(?:uvicorn|gunicorn|hypercorn|granian|flask)$/;

/** Programs that run a task of a project. */
const taskRunners = /^(?:make|just|task|devbox|ddev|lando|turbo|moon|invoke|nox|tox)$/;

/** Whether a command runs a task: `just serve`, `mise run serve`. */
function isTask(words: readonly string[]): boolean {
  const program = programOf(words);
  const verb = words
    .slice(1)
    .find((word, index) => !word.startsWith('-') && !/^-(?:C|-cd)$/.test(words[index] ?? ''));
  return (
    taskRunners.test(program) || (/^(?:mise|rtx)$/.test(program) && /^(?:run|r|tasks?)$/.test(verb ?? ''))
  );
}

/** Programs that start others on another machine or in a cluster. */
const remoteShells = /^(?:ssh|autossh|sshpass|mosh|kubectl|oc)$/;

/** Whether a program starts others, and is never a server itself. */
function isStarter(words: readonly string[]): boolean {
  const program = programOf(words);
  return (
    general.test(program) ||
    appServers.test(program) ||
    isTask(words) ||
    remoteShells.test(program) ||
    Object.hasOwn(starting, program) ||
    launchers.some(({ words: [first] }) => first === program)
  );
}

function remoteOf({ url, headers, type, note, withoutTools, oauth = {} }: BridgedServer): Pasted {
  const { clientId, scopes } = oauth;
  const given = Object.entries(headers).map(([name, value]) => ({
    name,
    description: '',
    required: true,
    secret: false,
    default: value,
  }));
  const isSse = type === 'sse' || isSseUrl(url);
  const oauth_config = {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(scopes === undefined ? {} : { scopes }),
  };
  const request = {
    url,
    ...(Object.keys(oauth_config).length === 0 ? {} : { oauth_config }),
    ...(isSse ? { transport: 'sse' as const } : {}),
    ...(given.length > 0 ? { headers: given } : {}),
  };
  return { request, notes: [note, ...toolNotes({ withoutTools })] };
}

/** The form in which the package managers start a package. */
const starting: Readonly<Record<string, string>> = {
  uv: 'uvx NAME or uv run',
  pipx: 'pipx run NAME',
  npm: 'npx NAME',
  pnpm: 'pnpm dlx NAME',
  yarn: 'yarn dlx NAME',
  bun: 'bunx NAME',
  deno: 'deno run npm:NAME',
  fastmcp: 'fastmcp run FILE.py or fastmcp run URL',
  mcp: 'mcp run FILE.py',
};

/** Only dotenvx can read these values. */
function refuseEncrypted(values: Readonly<Record<string, string>>, files: readonly string[]): void {
  const names = Object.keys(values).filter((name) => values[name]?.startsWith('encrypted:') === true);
  if (names.length === 0) return;
  throw invalid(`${files.join(', ')} has encrypted values: ${names.join(', ')}`, { hint: storeSecrets });
}

function wholeCommandIn(words: readonly string[]): Unwrapped | undefined {
  try {
    return commandIn(words);
  } catch (thrown) {
    if (thrown instanceof ThvError) return undefined;
    throw thrown;
  }
}

/** The command that starts the server itself. */
function commandIn(all: readonly string[]): Unwrapped {
  const outer = unwrap(all);
  const behind = behindBridge(outer.words);
  if (behind === undefined || 'url' in behind) return outer;
  const inner = unwrap(behind.words);
  return {
    ...outer,
    ...inner,
    env: { ...outer.env, ...inner.env },
    files: [...outer.files, ...inner.files],
    notes: [...outer.notes, behind.note, ...inner.notes],
  };
}

function missing(words: readonly string[]): Error {
  return invalid(`no command follows ${JSON.stringify(words[0] ?? '')}`, {
    hint: 'paste the complete command',
  });
}

/** `bash start.sh`, `./start.sh`: a script that a shell reads. */
function shellScriptIn(words: readonly string[]): string | undefined {
  const [first = '', ...rest] = words;
  if (/\.(?:ba|z|fi|k|c)?sh$/.test(first)) return first;
  const isShell = shells.some((shell) => shell === programOf(words));
  const file = rest.find((word) => !word.startsWith('-'));
  return isShell && !rest.some((word) => /^-[a-z]*c/.test(word)) ? file : undefined;
}

/** The error for a command that starts no server. */
function notStarted(words: readonly string[]): Error {
  const program = programOf(words);
  const form = Object.hasOwn(starting, program) ? starting[program] : undefined;
  const script = shellScriptIn(words);
  if (script !== undefined) {
    return invalid(`the shell script ${script} cannot be run in isolation`, {
      hint: 'use the command in it that starts the server, such as npx, uvx, or docker run',
    });
  }
  if (remoteShells.test(program)) {
    return invalid(
      `${JSON.stringify(program)} starts a server on another machine, where ToolHive cannot isolate it`,
      {
        hint: 'run thv there, and add the URL of its proxy here',
      },
    );
  }
  if (appServers.test(program)) {
    return invalid(`${program} serves an app of a project, which ToolHive does not start`, {
      hint: 'run the file that starts the server over stdio, or start the app yourself and use its URL',
    });
  }
  if (isTask(words)) {
    return invalid(`${program} runs a task of a project, which ToolHive does not read`, {
      hint: 'use the command that the task starts, such as npx, uvx, or docker run',
    });
  }
  if (form === undefined)
    return invalid(`the program ${JSON.stringify(words[0] ?? '')} cannot be run in isolation`, {
      hint: 'use npx, uvx, go run, or docker run, or the URL of a remote server',
    });
  const verb = words.slice(1).find((word) => !word.startsWith('-'));
  const command = JSON.stringify(verb === undefined ? program : `${program} ${verb}`);
  return invalid(`${command} does not start a package that ToolHive can isolate`, { hint: `use ${form}` });
}

/** The words with which package managers start a package. Flags between them belong to the whole command. */
const startingWords = ['uv tool run', 'pipx run', 'npm exec', 'npm x', 'pnpm dlx', 'yarn dlx', 'bun x'].map(
  (words) => words.split(' '),
);
const movable =
  /^(?:-[qsyv]|--(?:quiet|silent|yes|verbose|bun)|--(?:package|reporter|loglevel|allow-build)=.*)$/;

/** Returns a command with the flags between the words of its program behind them: `pnpm -s dlx X`. */
function withFlagsBehind(given: readonly string[]): readonly string[] {
  const words = withClientFlagsBehind(given);
  for (const expected of startingWords) {
    let [at, found] = [1, 1];
    const flags: string[] = [];
    while (found < expected.length && (words[at] === expected[found] || movable.test(words[at] ?? ''))) {
      if (words[at] === expected[found]) found++;
      else flags.push(words[at] ?? '');
      at++;
    }
    if (programOf(words) === expected[0] && found === expected.length)
      return [words[0] ?? '', ...expected.slice(1), ...flags, ...words.slice(at)];
  }
  return words;
}

function launcherOf(all: readonly string[]): Launcher | undefined {
  const words = withFlagsBehind(all);
  const normalized = [programOf(words), ...words.slice(1)];
  return launchers.find(
    ({ words: expected, accepts }) =>
      expected.every((word, index) => normalized[index] === word) &&
      accepts?.(normalized.slice(expected.length)) !== false,
  );
}

/** The first words of commands that only a shell can run. */
const shellSyntax = /^(?:[({!].*|if|for|while|until|case|select|function)$/;

/** A command in one text. */
function readShell(textOf: (words: readonly string[]) => ShellText | undefined): Launcher['read'] {
  return async (all, from) => {
    const text = textOf(all);
    if (text === undefined) throw severalPrograms();
    const { words, files, directory, ...set } = readShellText(text, from);
    if (shellSyntax.test(words[0] ?? '')) throw severalPrograms();
    const env = { ...(await readEnvFiles(files, from)), ...set.env };
    const pasted = await readCommandLine(words, { ...from, directory, env: { ...from.env, ...env } });
    if (pasted.request.cmd_arguments?.some((word) => /\$\((?!pwd\))/.test(word)) === true) {
      throw invalid('a shell command with the output of another program, $(…), cannot be run in isolation', {
        hint: 'write the value instead, or store it with thv secret set',
      });
    }
    return { ...pasted, request: { ...pasted.request, env_vars: { ...env, ...pasted.request.env_vars } } };
  };
}

/** `npm run NAME` and `npm start` run the command that the package in the directory names. */
function readScriptOf(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('npm', all, {
    ...switches('-s', '--silent', '-q', '--quiet'),
    ...withValues('--prefix', '-C', '--dir', '--cwd'),
  });
  const after = readOtherFlags('npm run', words.slice(1), {
    ...switches('-s', '--silent'),
    ...withValues('--prefix', '-C', '--dir', '--cwd'),
  });
  const place = valuesOf([...given, ...after.given], '--prefix', '-C', '--dir', '--cwd').at(-1) ?? '.';
  const directory = absolutePath(place, from);
  const [first = ''] = words;
  const [script = first, ...args] = first === 'run' ? after.words : [first, ...after.words];
  const command = wordsIn(scriptIn(directory, script));
  // A script that names itself would have no end.
  if (command === undefined || /^(?:npm|pnpm|yarn)$/.test(command[0] ?? '') || !isCommandLine(command)) {
    throw invalid(`the script ${script} of ${directory} is not a command that ToolHive can isolate`, {
      hint: `run the package, or the file that the script starts: thv run ${directory}`,
    });
  }
  return readCommandLine([...command, ...args.filter((arg) => arg !== '--')], { ...from, directory });
}

/** `claude mcp add NAME -- npx package`: the command that a client would store. */
function readClientAdd(program: string): Launcher['read'] {
  return async (words, from) => {
    const added = readAdded(program, words);
    const inner = { ...from, env: { ...from.env, ...added.env } };
    const { request, notes } =
      'remote' in added ? added.remote : await readCommandLine(wholeOf(added.words), inner);
    const env_vars = { ...added.env, ...request.env_vars };
    return {
      notes,
      request: {
        ...request,
        name: added.name,
        ...(request.url !== undefined || Object.keys(env_vars).length === 0 ? {} : { env_vars }),
      },
    };
  };
}

/** Some clients take the command in one text. */
function wholeOf(words: readonly string[]): readonly string[] {
  const [only = '', ...more] = words;
  return more.length === 0 ? (wordsIn(only) ?? words) : words;
}

/** Looks for a module in the directory, in the project around a virtual environment, and in installed packages. */
async function readPythonModule(
  [module = '', ...args]: readonly string[],
  from: PastedFrom,
): Promise<Pasted> {
  const { directory, program = '' } = from;
  const [, around] = /^(.+)\/\.?v?env\/bin\/[^/]+$/.exec(program) ?? [];
  const project = around === undefined ? undefined : absolutePath(around, from);
  for (const place of [directory, project])
    if (place !== undefined && findModule(module, place) !== undefined)
      return readModule([module, ...args], place, from);
  const served = [module, ...args];
  if (appServers.test(module) || general.test(module)) throw notStarted(served);
  const installed = await readInstalledModule(program, served, from);
  if (installed !== undefined) return installed;
  const name = module.split('.')[0]?.replaceAll('_', '-') ?? '';
  throw invalid(`python -m ${module} runs a module on this machine, which ToolHive does not install`, {
    hint: `if its package is ${name}, run thv run ${['uvx://' + name, ...(args.length > 0 ? ['--', ...args] : [])].join(' ')}`,
  });
}
