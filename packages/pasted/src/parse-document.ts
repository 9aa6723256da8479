import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { TomlError, parse as parseToml } from 'smol-toml';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { repairedJson } from './json-repair.ts';
import { withoutMargin } from './margin.ts';
import { valueOfYaml } from './yaml-keys.ts';

/** Parses the text of a configuration, or all blocks in the fences and before the text of a Markdown page. */
export function parseDocuments(text: string, what: string): unknown[] {
  const plain = withoutMargin(text.replace(/^\uFEFF/, '')).replace(
    /^([ \t]*[{["].*)\n[ \t]*(?:`{3,}|~{3,})\s*$/s,
    '$1',
  );
  const blocks = [...frontMatter(plain), ...fencedBlocks(plain)];
  if (blocks.length === 0) return [parseDocument(plain, what)];
  const parsed: unknown[] = [];
  let failure: unknown;
  for (const block of blocks) {
    try {
      parsed.push(parseDocument(block, what));
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      failure ??= thrown; // a block with a command is not a configuration
    }
  }
  if (parsed.length === 0) throw failure;
  return parsed;
}

/** The YAML before the text of a page, with which agents name their servers. */
function frontMatter(text: string): string[] {
  const [, block] = /^---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s.exec(text) ?? [];
  return block === undefined ? [] : [block];
}

/** The content between lines of three or more backticks or tildes. The last block may have no end. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: { fence: string; lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, fence] = /^[ \t>]*(`{3,}|~{3,})/.exec(line) ?? [];
    if (open === undefined) {
      if (fence !== undefined) open = { fence, lines: [] };
    } else if (fence?.startsWith(open.fence) === true) {
      blocks.push(open.lines.join('\n'));
      open = undefined;
    } else open.lines.push(line);
  }
  if (open !== undefined) blocks.push(open.lines.join('\n'));
  return blocks.filter((block) => block.trim() !== '');
}

function parseDocument(text: string, what: string): unknown {
  try {
    return parse(withoutMargin(text), what);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw invalid(`${what} is nested too deeply`);
  }
}

function parse(quoted: string, what: string): unknown {
  // As a word for a shell: '{"mcpServers": …}'.
  const [, inner] = /^\s*'(\s*[{[].*[}\]]\s*)'\s*$/s.exec(quoted) ?? [];
  const text = inner?.replaceAll(String.raw`'\''`, "'") ?? quoted;
  const unescaped = withoutEscapes(text);
  if (unescaped !== undefined) return parse(unescaped, what);
  // A README may show a part of a file: "name": {…}.
  const json = /^\s*"[^"]*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, '')}}` : text;
  if (/^\s*([{[]|\/[/*])/.test(json)) {
    const errors: ParseError[] = [];
    const tree = parseTree(json, errors, { allowTrailingComma: true });
    const [error] = errors;
    if (error === undefined) return tree === undefined ? undefined : valueOf(tree);
    const repaired = repair(json);
    if (repaired !== undefined) return repaired;
    if (!/^\s*\[/.test(json)) {
      const before = json.slice(0, error.offset).split('\n');
      const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
      const hint = hints[printParseErrorCode(error.error)];
      throw invalid(`${what} is not JSON: syntax error in ${place}`, hint === undefined ? {} : { hint });
    }
  }
  const parsers = [() => parseToml(text), () => valueOfYaml(text, { maxAliasCount: 100 })];
  let toml: TomlError | undefined;
  for (const read of parsers) {
    try {
      const value = read();
      if (isObject(value) || Array.isArray(value)) return value;
    } catch (thrown) {
      if (thrown instanceof TomlError) toml = thrown; // the other format may fit
    }
  }
  const inside = /[{[]\s*\S/.test(text) ? repair(text) : undefined;
  if (inside !== undefined) return inside;
  if (toml !== undefined && /^[ \t]*\[[^\]\n]+\][ \t]*(?:#|\r?$)/m.test(text))
    throw invalidToml(text, what, toml);
  throw invalid(`${what} is not JSON, YAML, or TOML`, { hint: 'check the file for syntax errors' });
}

/** The place of a mistake, without the line, which can contain a secret. */
function invalidToml(text: string, what: string, { line, column }: TomlError): Error {
  const wrong = text.split(/\r?\n/)[line - 1] ?? '';
  const hint = wrong.includes('\\')
    ? String.raw`in TOML, write a Windows path between single quotes: 'C:\Users'`
    : /^\s*\[/.test(wrong)
      ? 'in TOML, write a name with spaces or dots in quotes: [mcp_servers."my server"]'
      : 'in TOML, write texts in quotes, and each member on its own line';
  return invalid(`${what} is not TOML: syntax error in line ${line}, column ${column}`, { hint });
}

const hints: Readonly<Record<string, string | undefined>> = {
  InvalidEscapeCharacter: String.raw`in JSON, write each backslash of a path twice: C:\\Users`,
  UnexpectedEndOfString: String.raw`a text in quotes continues on the next line. Write it on one line, and a line break in it as \n`,
};

/** The value of a text that is almost JSON, or a list of several. Undefined if it is not clear. */
function repair(text: string): unknown {
  const values = repairedJson(text)?.map((part) => {
    const errors: ParseError[] = [];
    const tree = parseTree(part, errors, { allowTrailingComma: true });
    return errors.length === 0 && tree !== undefined ? valueOf(tree) : undefined;
  });
  if (values === undefined || values.includes(undefined)) return undefined;
  return values.length > 1 ? values : values[0];
}

/** The objects and lists in a text that contains JSON. None if that is not clear. */
export function objectsIn(text: string): unknown[] {
  try {
    const found = repair(text);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  } catch (error) {
    if (error instanceof RangeError) return []; // nested more deeply than any configuration
    throw error;
  }
}

const entities: Readonly<Record<string, string>> = {
  quot: '"',
  '#34': '"',
  '#39': "'",
  apos: "'",
  lt: '<',
  gt: '>',
  amp: '&',
};

/** The JSON in a text of another language: `{\"mcpServers\": …}` in a program, `{&quot;mcpServers&quot;: …}` in HTML. */
function withoutEscapes(text: string): string | undefined {
  if (/^\s*[{[]\s*&(?:quot|#34);/.test(text))
    return text.replaceAll(/&([a-z]+|#\d+);/g, (entity, name: string) => entities[name] ?? entity);
  const whole = text.trim();
  const inner = whole.startsWith('"') && whole.endsWith('"') ? whole.slice(1, -1).trim() : whole;
  if (!/^[{[]\s*\\"/.test(inner)) return undefined;
  try {
    return String(JSON.parse(`"${inner.replaceAll(/\r?\n/g, String.raw`\n`)}"`));
  } catch {
    return undefined;
  }
}

/** Separates a repeated key of a JSON object from its number. */
const repeated = '\u0000';

/** The key as its author wrote it. */
export function writtenKey(key: string): string {
  return key.split(repeated, 1)[0] ?? key;
}

/** The last of several members with the same key counts, but earlier ones that are objects can be servers. */
function valueOf(node: Node): unknown {
  const children = node.children ?? [];
  if (node.type === 'array') return children.map(valueOf);
  if (node.type !== 'object') return node.value as unknown;
  const members = new Map<string, unknown>();
  for (const { children: [key, inner] = [] } of children) {
    if (key === undefined || inner === undefined) continue;
    const written = String(key.value);
    const name = written.trim() === '' ? written : written.trim(); // `"httpUrl ": …`
    const earlier = members.get(name);
    members.delete(name);
    if (isObject(earlier)) members.set(`${name}${repeated}${members.size}`, earlier);
    members.set(name, valueOf(inner));
  }
  return Object.fromEntries(members);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
