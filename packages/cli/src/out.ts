import { stripVTControlCharacters } from 'node:util';
import { escaped, printable, withoutSequences } from '@toolhive/contract/printable';
import { standardError, standardOutput } from './standard-streams.ts';
import type { Colour } from './standard-streams.ts';

/**
 * A command's output. The result goes to standard output, for programs or for people, as the user chose. Everything
 * else goes to standard error.
 */
export interface Out {
  /** The complete result. For programs, one JSON document. */
  result: (value: unknown, shown: Shown) => void;
  /** The same for several things at once: people see each of them in its turn, programs get a list at the end. */
  results: (outcomes: readonly Promise<Outcome>[]) => Promise<void>;
  /** A partial result of a running command. For programs, one line of JSON. */
  record: (value: unknown, shown: Shown) => void;
  /** The output of another program, which may end within a line. For programs, one line of JSON with `value`. */
  piece: (value: unknown, stream: 'stdout' | 'stderr', text: string) => void;
  /** The current step, for a waiting user. */
  progress: (message: string) => void;
  /** Something that a person should know, on standard error. */
  note: (text: string) => void;
}

/** One of several results. Some results show nothing, because their errors are reported elsewhere. */
interface Outcome {
  value: unknown;
  shown?: Shown;
}

/** A result for people: a line, or a function that prints a page. */
type Shown = string | ((page: Page) => void);

/** Standard output for people. Control characters in texts are replaced, because most texts are foreign. */
export interface Page {
  line: (text: string) => void;
  /** A line that must stay as it is, because a program may read it. */
  verbatim: (text: string) => void;
  /** Rows under a header. Long cells are cut only on a narrow terminal. */
  table: (header: readonly string[], rows: readonly (readonly string[])[]) => void;
  /** Clears the terminal, for repeated output. */
  clear: () => void;
  /** Text in a colour, where colours are wanted. */
  paint: (colour: Colour, text: string) => string;
}

/** The audience of the results. */
export type OutputFormat = 'text' | 'json';

/** Writes to the process's streams. Colors depend on `NO_COLOR`, `FORCE_COLOR`, and the terminal. */
export function processOut(format: OutputFormat): Out {
  let isMidLine = false;
  const finishLine = (): void => {
    if (isMidLine) standardError.write(eraseLine);
    isMidLine = false;
  };
  const print = (text: string): void => {
    finishLine();
    standardOutput.write(text);
  };
  const page: Page = {
    line: (text) => print(`${printablePaint(text)}\n`),
    verbatim: (text) => print(`${text}\n`),
    table: (header, rows) => print(formatTable(header, rows, standardOutput.columns)),
    clear: () => print(clearScreen),
    paint: (colour, text) => standardOutput.paint(colour, text),
  };
  const isJson = format === 'json';
  const isNews = newsOf();
  const show = (shown: Shown): void => (typeof shown === 'string' ? page.line(shown) : shown(page));
  const result: Out['result'] = (value, shown) =>
    isJson ? page.verbatim(harmlessJson(value, indent)) : show(shown);
  return {
    result,
    async results(outcomes) {
      const values: unknown[] = [];
      for (const coming of outcomes) {
        const { value, shown } = await coming;
        values.push(value);
        if (!isJson && shown !== undefined) show(shown);
      }
      result(values, () => {});
    },
    piece(value, stream, text) {
      if (isJson) return page.verbatim(harmlessJson(value));
      finishLine();
      const target = stream === 'stdout' ? standardOutput : standardError;
      target.write(printable(withoutSequences(text).replaceAll(/\r\n?/g, '\n')));
    },
    record: (value, shown) => (isJson ? page.verbatim(harmlessJson(value)) : show(shown)),
    progress: (message) => {
      const isTTY = standardError.isTerminal;
      if (!isTTY && !isNews(message)) return;
      const step = `- ${oneLine(message)}`;
      const room = (standardError.columns || Infinity) - 1;
      // On a terminal, each step replaces the previous one. Elsewhere it stays. An address that the user must open
      // stays too, because a cut address is useless. So does a warning.
      const isKept =
        !isTTY || message.startsWith('WARNING: ') || (step.length > room && /https?:\/\//.test(step));
      const painted = standardError.paint('dim', isKept ? step : step.slice(0, room));
      standardError.write(`${isTTY ? eraseLine : ''}${painted}${isKept ? '\n' : ''}`);
      isMidLine = !isKept;
    },
    note: (text) => {
      finishLine();
      standardError.write(`${printable(text)}\n`);
    },
  };
}

/**
 * Decides which steps deserve a lasting line: all except progress counts, and one progress count every two seconds,
 * so that hundreds of packages do not fill a log.
 */
export function newsOf(now: () => number = () => performance.now()): (step: string) => boolean {
  let kind: string | undefined;
  let saidMs = -Infinity;
  return (step) => {
    const kindNow = step.replaceAll(/(?<=^| )\d+(?= |$)/g, '#');
    if (kindNow === kind && now() - saidMs < quietMs) return false;
    kind = kindNow;
    saidMs = now();
    return true;
  };
}

const quietMs = 2_000;

/** Of JSON in several lines. */
const indent = 2;

/** Moves to the start of the line and erases it (ECMA-48, EL). */
export const eraseLine = '\r\u001b[2K';

/** To the first line, and everything below gone (ECMA-48, CUP and ED). */
const clearScreen = '\u001b[H\u001b[2J';

const gap = '   ';

/** No column gets narrower than this, even where that is wider than the terminal. */
const narrowest = 6;

/** Begins every code (ECMA-48, ESC). */
const escapeCode = '\u001b';

/** The codes with which `paint` begins and ends a color (ECMA-48, SGR). */
const paintCodes = new RegExp(`(${escapeCode}\\[(?:1|2|22|31|32|33|39)m)`);

/** The same text with characters replaced that could control the terminal, except for colors. */
function printablePaint(text: string): string {
  const parts = text.split(paintCodes);
  return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join('');
}

/** Rows under a header, as wide as their longest cells, cut to `columns` unless that is 0. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = 0,
): string {
  const cells = rows.map((row) => row.map((cell) => printablePaint(cell.replace(/\s/g, ' '))));
  const longest = header.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => widthOf(row[column] ?? ''))),
  );
  const widths = columns > 0 ? fitted(longest, columns - gap.length * (header.length - 1)) : longest;
  const lines = [header, ...cells].map((row) =>
    row
      .map((cell, column) => {
        const shown = cut(cell, widths[column] ?? 0);
        return shown + ' '.repeat((widths[column] ?? 0) - widthOf(shown));
      })
      .join(gap)
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Takes from the widest column until all of them have room, or none can give any more. */
function fitted(longest: readonly number[], room: number): number[] {
  const widths = [...longest];
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; excess -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= narrowest) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** The visible width of a cell, without color codes. */
function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** Cuts the visible part of a cell. Color codes stay, so that colors end. */
function cut(cell: string, width: number): string {
  if (widthOf(cell) <= width) return cell;
  const plain = stripVTControlCharacters(cell);
  return cell.replace(plain, `${plain.slice(0, width - 1)}…`);
}

/** JSON has its own escapes for such characters, but uses them only for some. */
export function harmlessJson(value: unknown, spaces = 0): string {
  return escaped(JSON.stringify(value, null, spaces));
}

/** Text on one line, fit for a terminal, and perhaps cut, with dots that say so. */
export function oneLine(text: string, widest = Infinity): string {
  const line = printable(text.replace(/\s+/g, ' ').trim());
  if (line.length <= widest) return line;
  // Half of a pair of surrogates would be no character.
  return `${line.slice(0, widest - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}
