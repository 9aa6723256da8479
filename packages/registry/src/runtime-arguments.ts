import type { Argument, NamedInput, Package } from './server-json.ts';

/** What a package's runtime arguments mean, which are for a command that ToolHive does not use. */
export interface RuntimeMeaning {
  /** The server's environment variables. */
  variables: NamedInput[];
  /** The mounts that the server wants, one per line. Only the user can grant them. */
  mounts: string[];
  /** The package's program, if it has another name than the package. */
  program?: string;
  /** The server's arguments. */
  rest: readonly Argument[];
}

/** Reads the runtime arguments. Returns the word that ToolHive cannot honor, if the server needs it. */
export function meaningOf(each: Package, isImage: boolean): RuntimeMeaning | string {
  const args = isImage ? paired(each.runtimeArguments) : each.runtimeArguments;
  const meaning: RuntimeMeaning = { variables: [], mounts: [], rest: [] };
  const declared: ReadonlySet<string> = new Set(each.environmentVariables.map(({ name }) => name));
  let isForProgram = false;
  for (const [at, arg] of args.entries()) {
    const word = wordOf(arg);
    const given = arg.value ?? arg.default;
    if (isForProgram && arg.name === undefined) {
      return { ...meaning, program: word, rest: args.slice(at + 1) };
    }
    if (environment.has(word) && given !== undefined) {
      const variable = variableIn(arg, given);
      if (variable === undefined) return word;
      if (!declared.has(variable.name)) meaning.variables.push(variable);
    } else if (isImage && volumes.has(word)) meaning.mounts.push(mountIn(arg, given));
    else if (!isImage && packageFlags.has(word) && isOwn(each, given)) isForProgram = true;
    else if (isOwn(each, word, isImage)) return { ...meaning, rest: args.slice(at + 1) };
    else if (!isIdle(arg, word, isImage) && (arg.isRequired || given !== undefined)) return word;
  }
  return isForProgram ? 'without a program' : meaning;
}

const environment: ReadonlySet<string> = new Set(['-e', '--env']);
const volumes: ReadonlySet<string> = new Set(['-v', '--volume', '--mount']);
/** How `uvx` and `npx` name a program's package. */
const packageFlags: ReadonlySet<string> = new Set(['--from', '-p', '--package']);

/** Arguments for `npx` or `docker run` that change nothing here. */
const idle: ReadonlySet<string> = new Set([
  '-y',
  '--yes',
  '-i',
  '-t',
  '-it',
  '--interactive',
  '--tty',
  '--rm',
  'run',
]);
/** Options for `docker run` that change nothing here. Only the proxy reaches a server's ports. */
const idleOptions: ReadonlySet<string> = new Set(['-p', '--publish', '--name', '--pull']);

function isIdle(arg: Argument, word: string, isImage: boolean): boolean {
  const isOff = arg.format === 'boolean' && (arg.value ?? arg.default)?.toLowerCase() === 'false';
  return isOff || idle.has(word) || (isImage && idleOptions.has(word));
}

/** Some authors write an option and its value as two arguments, as on a command line. */
function paired(args: readonly Argument[]): Argument[] {
  const pairs: Argument[] = [];
  for (const arg of args) {
    const last = pairs.at(-1);
    const option = last === undefined ? '' : wordOf(last);
    const isOpen =
      last !== undefined && (last.name === undefined || (last.value ?? last.default) === undefined);
    if (last !== undefined && isOpen && arg.name === undefined && takesValue(option)) {
      pairs.splice(-1, 1, {
        ...arg,
        type: 'named',
        name: option,
        isRequired: last.isRequired || arg.isRequired,
      });
    } else pairs.push(arg);
  }
  return pairs;
}

const takesValue = (option: string): boolean =>
  environment.has(option) || volumes.has(option) || idleOptions.has(option);

const wordOf = ({ name, value, valueHint }: Argument): string => name ?? value ?? valueHint ?? '';

/** `NAME=VALUE`, or only a name, whose value the user gives. */
function variableIn(arg: Argument, given: string): NamedInput | undefined {
  const [, name, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(given) ?? [];
  if (name === undefined) return undefined;
  const { value: _value, default: _default, ...input } = arg;
  return { ...input, name, ...(value === undefined ? {} : { value }) };
}

/** `SOURCE:TARGET[:OPTIONS]`, or `type=bind,source=SOURCE,target=TARGET,OPTIONS`. */
function mountIn({ description = '', isRequired }: Argument, given = ''): string {
  const [, target] =
    /(?:^|,)(?:target|dst|destination)=(\/[^,]*)/.exec(given) ?? /:(\/[^:,]*)(?::[\w,]*)?$/.exec(given) ?? [];
  const mode = /[:,](?:ro|readonly)(?:$|,)/.test(given) ? ':ro' : '';
  const place = target === undefined ? 'a directory' : `${target}${mode}`;
  return `${place}${isRequired ? ' (required)' : ''}${description === '' ? '' : `: ${description}`}`;
}

/** Whether a word names the package itself, in any version. */
function isOwn({ identifier }: Package, word = '', isImage = false): boolean {
  if (isImage) return bareImage(word) === bareImage(identifier);
  return word === identifier || word.startsWith(`${identifier}@`) || word.startsWith(`${identifier}==`);
}

function bareImage(reference: string): string {
  return reference
    .replace(/^(?:oci|docker|https):\/\//, '')
    .replace(/^docker\.io\/(?:library\/)?/, '')
    .replace(/@.*$/s, '')
    .replace(/:[^/:]*$/, '');
}
