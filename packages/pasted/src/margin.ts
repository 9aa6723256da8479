/**
 * A text without the line numbers of a viewer and the marks of a diff in front of its lines. Removed lines and the headers
 * of a diff are left out.
 */
export function withoutMargin(text: string): string {
  if (!text.includes('\n')) return text;
  const lines = text.split(/\r?\n/);
  return (withoutMarks(lines) ?? withoutNumbers(lines) ?? withoutNumberLines(lines))?.join('\n') ?? text;
}

const isBlank = (line: string): boolean => line.trim() === '';
const header = /^(?:diff --git |index [0-9a-f]{4,}|new file mode |deleted file mode |--- |\+\+\+ |@@ )/;

/** The result of a diff: its added lines, and those that stay. */
function withoutMarks(lines: readonly string[]): string[] | undefined {
  const isWhole = lines.some((line) => /^@@ -\d/.test(line) || line.startsWith('diff --git '));
  const body = isWhole ? lines.filter((line) => !header.test(line) && !line.startsWith('\\ ')) : lines;
  const added = body.filter((line) => line.startsWith('+'));
  if (added.length === 0) return undefined;
  const filled = body.filter((line) => !isBlank(line));
  // Pages show a diff also without the blank in front of the lines that stay.
  const isDiff = isWhole || filled.every((line) => /^(?:\+(?!\d)|-|\s|[{}[\]"])/.test(line));
  if (!isDiff) return undefined;
  return body.filter((line) => !line.startsWith('-')).map((line) => line.replace(/^[+ ]/, ''));
}

/** A number, perhaps a mark, and the line. */
const numbered = /^[ \t]{0,20}(\d{1,6})(?:[ \t]?([|:│])|(?=[ \t]|$))(.*)$/s;

function withoutNumbers(lines: readonly string[]): string[] | undefined {
  const found = lines.filter((line) => !isBlank(line)).map((line) => numbered.exec(line));
  const [first, second] = found;
  if (first === undefined || second === undefined) return undefined;
  const start = Number(first?.[1]);
  if (!found.every((match, index) => Number(match?.[1]) === start + index)) return undefined;
  // A YAML mapping can have numbers as its keys.
  if (first?.[2] === ':' && !/^\s*[{[]\s*$/.test(first[3] ?? '')) return undefined;
  const rest = found.map((match) => match?.[3] ?? '');
  const margins = rest.filter((line) => !isBlank(line)).map((line) => line.search(/\S/));
  const margin = Math.min(...margins.slice(0, 10_000));
  return rest.map((line) => line.replace(/^[ \t]+/, (blanks) => blanks.slice(margin)));
}

/** Some pages copy each number as a line of its own. */
function withoutNumberLines(lines: readonly string[]): string[] | undefined {
  const numbers = lines.filter((line) => /^[ \t]{0,20}\d{1,6}[ \t]{0,20}$/.test(line)).map(Number);
  const [first = 0] = numbers;
  const isCounted = numbers.length > 1 && numbers.every((number, index) => number === first + index);
  const others = lines.filter((line) => !isBlank(line)).length - numbers.length;
  if (!isCounted || others > numbers.length || others < numbers.length - 1) return undefined;
  return lines.filter((line) => !/^[ \t]{0,20}\d{1,6}[ \t]{0,20}$/.test(line));
}
