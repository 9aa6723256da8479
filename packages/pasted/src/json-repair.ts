const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** By the quote that opens: the quotes that close. JSON5, Python, and word processors have other quotes than JSON. */
const quotes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '“': '”“',
  '”': '”',
  '‘': '’',
  '’': '’',
};

const literals: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  undefined: 'null',
};

interface Scan {
  text: string;
  at: number;
  out: string;
  /** The closing brackets that are missing so far. */
  open: string[];
  /** Whether a value or its end came last, so that a comma or the end must follow. */
  isAfterValue: boolean;
}

/**
 * The objects and lists in a text that is almost JSON, as JSON with comments: JSON5, Python, typographic quotes, `...`
 * for the parts that a page leaves out, variables and calls of programs, missing commas between members, a missing or surplus bracket at the end, several objects
 * one after another, and text around them. Undefined if the brackets do not match, or if the end is missing.
 */
export function repairedJson(text: string): string[] | undefined {
  const scan: Scan = { text, at: 0, out: '', open: [], isAfterValue: false };
  const found: string[] = [];
  while (scan.at < text.length) {
    if (scan.open.length === 0) {
      if (scan.out !== '') found.push(scan.out);
      scan.out = '';
      scan.isAfterValue = false;
      const [start = text.length] = [text.slice(scan.at).search(/[{[]/)].map((to) =>
        to < 0 ? text.length : scan.at + to,
      );
      scan.at = start;
      if (start === text.length) break;
    }
    if (!step(scan)) return undefined;
  }
  if (scan.open.length > 1) return undefined; // more than a bracket is missing
  if (scan.out !== '') found.push(scan.out + scan.open.join(''));
  return found;
}

/** Reads one token. False for a bracket that closes another one. */
function step(scan: Scan): boolean {
  const { text, at } = scan;
  const mark = text[at] ?? '';
  if (Object.hasOwn(closers, mark)) {
    value(scan, mark, 1);
    scan.open.push(closers[mark] ?? '');
    scan.isAfterValue = false;
  } else if (mark === '}' || mark === ']') {
    if (scan.open.pop() !== mark) return false;
    take(scan, mark, 1);
    scan.isAfterValue = true;
  } else if (Object.hasOwn(quotes, mark)) quoted(scan, quotes[mark] ?? mark);
  else if (text.startsWith('//', at) || mark === '#') skipTo(scan, '\n');
  else if (text.startsWith('/*', at)) skipTo(scan, '*/');
  else if (text.startsWith('...', at) || mark === '…') {
    const [left = ''] = /^(?:\.{3,}|…)\s*,?/.exec(text.slice(at, at + 200)) ?? [];
    take(scan, '', left.length);
  } else bare(scan, mark);
  return true;
}

/** A variable in a program: `process.env.NAME!`, `os.environ["NAME"]`, `os.getenv("NAME", "")`. */
const variable =
  /^(?:process\.env\.([A-Za-z_]\w*)|process\.env\[["']([A-Za-z_]\w*)["']\]|os\.environ\[["']([A-Za-z_]\w*)["']\]|os\.(?:getenv|environ\.get)\(\s*["']([A-Za-z_]\w*)["'][^()]{0,50}\))!?(?:\s*(?:\?\?|\|\|)\s*(?:""|''))?/;
/** The beginning of a call in a program: `new StdioClientTransport(`. */
const call = /^(?:(?:new|await)\s+)?[A-Za-z_$][\w$.]{0,100}\(/;

function bare(scan: Scan, mark: string): void {
  const rest = scan.text.slice(scan.at, scan.at + 200);
  const [reference, ...named] = variable.exec(rest) ?? [];
  const name = named.find((each) => each !== undefined);
  if (reference !== undefined && name !== undefined)
    return value(scan, JSON.stringify(`\${${name}}`), reference.length);
  const [opened] = call.exec(rest) ?? [];
  if (opened !== undefined || mark === ')') return take(scan, '', opened?.length ?? 1);
  const [word] = /^[A-Za-z_$][\w$-]*/.exec(rest) ?? [];
  if (word === undefined) {
    const isNumber = /[\d.+-]/.test(mark);
    take(scan, mark, 1);
    scan.isAfterValue = isNumber || (scan.isAfterValue && /\s/.test(mark));
    return;
  }
  const isKey = /^\s{0,50}:/.test(scan.text.slice(scan.at + word.length, scan.at + word.length + 52));
  const known = Object.hasOwn(literals, word) ? literals[word] : word;
  value(scan, isKey ? JSON.stringify(word) : (known ?? word), word.length);
}

/** A string between other quotes becomes one of JSON. */
function quoted(scan: Scan, closing: string): void {
  const { text, at } = scan;
  let end = at + 1;
  while (end < text.length && !closing.includes(text[end] ?? '')) end += text[end] === '\\' ? 2 : 1;
  const inner = withLines(text.slice(at + 1, end));
  const written =
    text[at] === '"' ? inner : inner.replaceAll(/\\'/g, "'").replaceAll(/(?<!\\)"/g, String.raw`\"`);
  value(scan, `"${written}"`, end + 1 - at);
}

/** The copied lines of a certificate or a key. In other texts, a line break can be a mistake. */
function withLines(inner: string): string {
  return inner.startsWith('-----BEGIN ') ? inner.replaceAll(/\r?\n/g, String.raw`\n`) : inner;
}

function value(scan: Scan, out: string, length: number): void {
  take(scan, scan.isAfterValue ? `,${out}` : out, length);
  scan.isAfterValue = true;
}

function take(scan: Scan, out: string, length: number): void {
  scan.out += out;
  scan.at += length;
}

function skipTo(scan: Scan, end: string): void {
  const found = scan.text.indexOf(end, scan.at);
  scan.at = found === -1 ? scan.text.length : found + end.length;
}
