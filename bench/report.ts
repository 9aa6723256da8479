import { cpus, loadavg } from 'node:os';
import { judge, writeFigure } from './measurement.ts';
import type { Measurement } from './measurement.ts';

const header = ['BENCHMARK', 'WHAT', 'OURS', 'REFERENCE', 'COMPARED', 'BUDGET', 'HOLDS'];

/** The measurements as a table, with the state of the machine. */
export function formatTable(measurements: readonly Measurement[]): string {
  const rows = [header, ...measurements.map(row)];
  const widths = header.map((_title, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  );
  const { node, processors, load } = machine();
  return `${lines.join('\n')}\n\nNode.js ${node}, ${processors} processors, load average ${load.join(' ')}\n`;
}

/** The same for programs. */
export function formatJson(measurements: readonly Measurement[]): string {
  const rows = measurements.map((measurement) => {
    const { value, budget, holds } = judge(measurement);
    return { ...measurement, compared: value, limit: budget, holds };
  });
  return `${JSON.stringify({ ...machine(), measurements: rows }, null, 2)}\n`;
}

function row(measurement: Measurement): string[] {
  const { benchmark, what, unit, ours, reference } = measurement;
  const { text, budget = '', holds } = judge(measurement);
  return [
    benchmark,
    what,
    `${writeFigure(ours)} ${unit}`,
    reference === undefined ? '' : `${writeFigure(reference)} ${unit}`,
    text,
    budget,
    holds === undefined ? '' : holds ? 'yes' : 'NO',
  ];
}

function machine() {
  return {
    node: process.version,
    processors: cpus().length,
    load: loadavg().map((value) => Number(value.toFixed(1))),
  };
}
