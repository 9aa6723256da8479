import { styleText } from 'node:util';

/** Where a command writes: results to standard output, everything about them to standard error. */
export interface Out {
  /** A line of the result. */
  line: (text: string) => void;
  /** The result as JSON, for programs. */
  json: (value: unknown) => void;
  /** Rows under a header, as wide as their longest cells. */
  table: (header: readonly string[], rows: readonly (readonly string[])[]) => void;
  /** What is going on, for a person who waits. */
  progress: (message: string) => void;
  /** Something that a person should know, on standard error. */
  note: (text: string) => void;
  /** Text in a colour, where colours are wanted. */
  paint: (colour: Colour, text: string) => string;
}

export type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold';

/** Writes to the process's own streams; colours follow `NO_COLOR`, `FORCE_COLOR` and whether a terminal is there. */
export function processOut(): Out {
  let isMidLine = false;
  const finishLine = (): void => {
    if (isMidLine) process.stderr.write(eraseLine);
    isMidLine = false;
  };
  const print = (text: string): void => {
    finishLine();
    process.stdout.write(text);
  };
  return {
    line: (text) => print(`${text}\n`),
    json: (value) => print(`${JSON.stringify(value, null, 2)}\n`),
    table: (header, rows) => print(formatTable(header, rows)),
    progress: (message) => {
      const { isTTY, columns } = process.stderr;
      // On a terminal each step takes the place of the last one; anywhere else every line is kept.
      const step = `- ${printable(message)}`.slice(0, isTTY ? columns - 1 : undefined);
      const painted = styleText('dim', step, { stream: process.stderr });
      process.stderr.write(isTTY ? `${eraseLine}${painted}` : `${painted}\n`);
      isMidLine = isTTY;
    },
    note: (text) => {
      finishLine();
      process.stderr.write(`${printable(text)}\n`);
    },
    paint: (colour, text) => styleText(colour, text, { stream: process.stdout }),
  };
}

/** To the beginning of the line, and all of it gone (ECMA-48, EL). */
export const eraseLine = '\r\u001b[2K';

const gap = '   ';

function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const lines = [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(gap)
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** How wide a cell is on a screen: without the codes that colour it. */
function widthOf(cell: string): number {
  // eslint-disable-next-line no-control-regex -- escape codes begin with a control character
  return cell.replace(/\u001b\[\d+m/g, '').length;
}

/** Text from a server or a registry, fit for a terminal: no control character survives. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what must not reach the terminal
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}
