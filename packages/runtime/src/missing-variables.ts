import { invalidSettings } from './invalid-settings.ts';

/** Environment variable names in server output. Nothing else is taken from the output. */
const variable = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\bKUBECONFIG\b/g;
const isMissing =
  /required|missing|not set|must be set|must set|not found|not defined|not provided|undefined|is empty|environment variable|please (?:set|provide)|\bset [A-Z][A-Z0-9_]+ to\b|KeyError|needs? /i;
/** The same in other languages in which packages speak. */
const isMissingElsewhere =
  /环境变量|環境變數|缺少|未设置|未配置|未提供|未定义|未找到|不能为空|必须|必需|必填|请设置|请配置|請設定|需要设置|環境変数|必要|設定されていません|필요|설정되지|설정되어 있지|환경 변수|не задан|не установлен|не указан|не определен|не определён|не найден|отсутству|требуется|обязател|укажите|falta|requerid|obligatori|obrigatóri|não definid|no (?:está )?definid|manquant|\brequise?s?\b|obligatoire|non défini|fehlt|erforderlich|nicht gesetzt|mancante|richiest/i;
/** A line about what the server does not need. */
const isOptional =
  /可选|选填|необязательн|опционально|opcional|facultati|\boptional(?:ly)?\b|\bto (?:use|set|choose) (?:a|an|the|your|your own) (?:custom|different|other|alternative)\b|\bto (?:override|customi[sz]e|change)\b|\bdefaults? to\b/i;
/** A line about how to have less. */
const isLess = /\bto (?:limit|restrict|filter|disable|silence|hide)\b/i;
/** A line about a variable with a path, whatever its name is. */
const namesFile = /\bpath (?:of|to)\b|\bfile ?path\b/i;
/** A server that traces its settings names all variables, also those that it does not need. */
const isTrace = /\b(?:DEBUG|TRACE|VERBOSE)\b[\]:]/;
/** A line of a list that begins with a variable. */
const listed =
  /^(?:[-*•]|\d{1,2}[.)]|\[[ x]\]|[✗✘❌])?\s*([`'"]?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+[`'"]?(?:$|[\s:=(,].*))$/u;
/** Error codes, and settings that ToolHive makes itself. */
const isOther = /^(?:ERR|E)_|^MODULE_NOT_FOUND$|^MCP_(?:PORT|HOST|TRANSPORT)$|^(?:UV|PIP|NPM|NODE)_/;
const isPath =
  /_(?:PATH|FILE|FILENAME|FILEPATH|JSON_FILE|DIR|DIRECTORY|FOLDER)$|^KUBECONFIG$|^GOOGLE_APPLICATION_CREDENTIALS$/;
const isDirectory = /_(?:DIR|DIRECTORY|FOLDER)$/;
const isSecret = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|_PAT$/;

/** How many variables one answer names, and how many of a line are looked at: the time grows with their square. */
const maxNamed = 8;
const maxInLine = 32;
/** How much of each line of a list counts. */
const maxItem = 100;

/** The variables that a server's output misses, in the order of their lines. */
export function missingVariables(given: readonly string[]): { line: string; fix: string } | undefined {
  const lines = withLists(given);
  const invalid = invalidSettings(lines);
  const report = invalid.at(-1);
  if (report !== undefined) {
    const variables = [...new Set(invalid.map(({ variable: name }) => name))];
    return { line: report.said, fix: settingThem(variables.slice(0, maxNamed), []) };
  }
  const all = lines.filter(
    (line) => says(line) && !isTrace.test(line) && !isLess.test(line) && namesIn(line).length > 0,
  );
  const needed = all.filter((line) => !isOptional.test(line));
  const stated = needed.length > 0 ? needed : all;
  const last = stated.at(-1);
  if (last === undefined) return undefined;
  // Servers write one line for each variable, or all in one line.
  const names = [...new Set(stated.flatMap((line) => required(namesIn(line), line)))].slice(0, maxNamed);
  if (names.length === 0) return undefined;
  const files = names.filter((name) => stated.some((line) => line.includes(name) && namesFile.test(line)));
  return { line: last, fix: settingThem(names, files) };
}

const says = (line: string): boolean => isMissing.test(line) || isMissingElsewhere.test(line);

/** Puts a list with one variable on each line behind the line that begins it. */
function withLists(lines: readonly string[]): string[] {
  const joined: string[] = [];
  let [rest, isChoice, separator] = [0, false, ' '];
  for (const line of lines) {
    const [, item] = listed.exec(line.trimStart()) ?? [];
    if (rest > 0 && item !== undefined) {
      rest -= 1;
      if (!isOptional.test(item)) joined.push(`${joined.pop() ?? ''}${separator}${item.slice(0, maxItem)}`);
      if (isChoice) separator = ' or ';
      continue;
    }
    joined.push(line);
    const beginsList = says(line) && /[:：]$/.test(line) && namesIn(line).length === 0;
    rest = beginsList ? maxNamed : 0;
    isChoice = /\b(?:one|any|either) of\b/i.test(line);
    separator = ' ';
  }
  return joined;
}

function namesIn(line: string): string[] {
  const names = new Set([...line.matchAll(variable)].map(([name]) => name));
  return [...names].filter((name) => !isOther.test(name)).slice(0, maxInLine);
}

/** Of several ways to give one value, the value itself. Of other alternatives, the first. */
function required(names: readonly string[], line: string): string[] {
  const values = names.filter((name) => !names.some((other) => name !== other && isFormOf(name, other)));
  const [first] = values;
  return first !== undefined && values.length > 1 && areAlternatives(values, line) ? [first] : values;
}

/** `API_KEY_FILE` and `API_KEY_PATH` are the same value as `API_KEY`, in a file. */
function isFormOf(name: string, other: string): boolean {
  return name.startsWith(`${other}_`) && isPath.test(name);
}

function areAlternatives(names: readonly string[], line: string): boolean {
  const between = names.slice(1).map((name, index) => {
    const start = line.indexOf(names[index] ?? '') + (names[index] ?? '').length;
    return line.slice(start, line.indexOf(name, start));
  });
  return between.some((text) => /\bor\b/i.test(text));
}

/** The commands and flags that set the variables, as a phrase. */
function settingThem(names: readonly string[], known: readonly string[]): string {
  const files = names.filter((name) => isPath.test(name) || known.includes(name));
  const secrets = names.filter((name) => isSecret.test(name) && !files.includes(name));
  const plain = names.filter((name) => !secrets.includes(name) && !files.includes(name));
  const flags = [
    ...secrets.map((name) => `--secret ${name},target=${name}`),
    ...plain.map((name) => `-e ${name}=VALUE`),
    ...files.map((name) =>
      isDirectory.test(name)
        ? `-v DIR:/data/${shortName(name)} -e ${name}=/data/${shortName(name)}`
        : fileFlags(name),
    ),
  ];
  const stored = secrets.map((name) => `thv secret set ${name}`).join(' and ');
  const run = `run ${stored === '' ? 'it' : 'the server'} with ${flags.join(' ')}`;
  return stored === '' ? run : `store ${secrets.length === 1 ? 'it' : 'them'} with ${stored} and ${run}`;
}

/** The file as the server finds it, where nothing else is. */
export function fileFlags(name: string): string {
  return `-v FILE:/data/${shortName(name)}:ro -e ${name}=/data/${shortName(name)}`;
}

function shortName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}
