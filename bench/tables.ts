import { cpus, loadavg } from 'node:os';

/** Something measured, as it is shown. */
export interface Cell {
  text: string;
  /** Whether its budget holds, if it has one. */
  holds?: boolean;
}

/** One table of the report. */
export interface Section {
  title: string;
  head: readonly string[];
  /** What each row is about stands first. */
  rows: readonly (readonly (string | Cell)[])[];
}

/** A figure that may be so much at most. */
export function atMost(value: number, limit: number, write: (value: number) => string): Cell {
  return { text: `${write(value)} of ${write(limit)}`, holds: value <= limit };
}

/** A figure that has to be so much at least. */
export function atLeast(value: number, limit: number, write: (value: number) => string = String): Cell {
  return { text: write(value), holds: value >= limit };
}

export const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} kB`;
export const milliseconds = (ms: number): string => `${Math.round(ms)} ms`;
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The section as a table that a person and a page in Markdown can show. What missed its budget is marked. */
export function formatSection({ title, head, rows }: Section): string {
  const cells = [head, head.map(() => '---'), ...rows.map((row) => row.map(textOf))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row, index) => {
    const fill = index === 1 ? '-' : ' ';
    return `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  });
  return `${title}\n\n${lines.join('\n')}\n`;
}

/** What missed its budget, a line each. */
export function misses({ head, rows }: Section): string[] {
  return rows.flatMap(([name = '', ...cells]) =>
    cells.flatMap((cell, column) =>
      typeof cell !== 'string' && cell.holds === false
        ? [`${textOf(name)}, ${head[column + 1] ?? ''}: ${cell.text}`]
        : [],
    ),
  );
}

/** What the machine is and does: figures in time depend on it. */
export function formatMachine(): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `Node.js ${process.version}, ${cpus().length} processors, load average ${load.join(' ')}\n`;
}

function textOf(cell: string | Cell): string {
  return typeof cell === 'string' ? cell : cell.holds === false ? `**${cell.text}**` : cell.text;
}
