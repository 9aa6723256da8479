import { cpus, loadavg } from 'node:os';

/** A measurement as text. */
export interface Cell {
  text: string;
  /** Whether the measurement is within its budget, if one exists. */
  holds?: boolean;
}

/** One table of the report. */
export interface Section {
  title: string;
  head: readonly string[];
  /** The first column names the row. */
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

/** The section as a table for terminals and Markdown pages. Missed budgets are marked. */
export function formatSection({ title, head, rows }: Section): string {
  const cells = [head, head.map(() => '---'), ...rows.map((row) => row.map(textOf))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row, index) => {
    const fill = index === 1 ? '-' : ' ';
    return `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  });
  return `${title}\n\n${lines.join('\n')}\n`;
}

/** The missed budgets, one line each. */
export function misses({ head, rows }: Section): string[] {
  return rows.flatMap(([name = '', ...cells]) =>
    cells.flatMap((cell, column) =>
      typeof cell !== 'string' && cell.holds === false
        ? [`${textOf(name)}, ${head[column + 1] ?? ''}: ${cell.text}`]
        : [],
    ),
  );
}

/** The machine and its load, because durations depend on both. */
export function formatMachine(): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `Node.js ${process.version}, ${cpus().length} processors, load average ${load.join(' ')}\n`;
}

function textOf(cell: string | Cell): string {
  return typeof cell === 'string' ? cell : cell.holds === false ? `**${cell.text}**` : cell.text;
}
