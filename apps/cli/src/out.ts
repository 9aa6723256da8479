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
  return {
    line: (text) => void process.stdout.write(`${text}\n`),
    json: (value) => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    table: (header, rows) => void process.stdout.write(formatTable(header, rows)),
    progress: (message) =>
      void process.stderr.write(`${styleText('dim', `- ${message}`, { stream: process.stderr })}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    paint: (colour, text) => styleText(colour, text, { stream: process.stdout }),
  };
}

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
