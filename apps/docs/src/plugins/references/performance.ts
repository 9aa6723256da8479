import { code, table, textOf } from './markdown.ts';

/** One figure of a benchmark, as `bench/published.ts` writes it. */
interface Figure {
  what: string;
  unit: string;
  ours: number;
  reference?: number;
  compared?: string;
  limit?: string;
  holds?: boolean;
}

/** The figures of one benchmark, and how they were measured. */
interface Benchmark {
  title: string;
  references?: string;
  measuredOn: string;
  machine: { node: string; processor: string; processors: number };
  load: number;
  figures: readonly Figure[];
}

/** Returns the tables with the published figures, to be included in a page. */
export function performanceReference(benchmarks: Readonly<Record<string, Benchmark>>): string {
  return Object.entries(benchmarks).map(sectionOf).join('\n\n') + '\n';
}

function sectionOf([name, { title, references, figures, ...how }]: [string, Benchmark]): string {
  const rows = figures.map(({ what, unit, ours, reference, compared, limit, holds }) => [
    textOf(what),
    reference === undefined ? '' : amount(reference, unit),
    amount(ours, unit),
    compared ?? '',
    limit === undefined ? '' : textOf(holds === true ? limit : `${limit}: missed`),
  ]);
  const head = ['Measurement', 'Reference', 'ToolHive', 'Compared', 'Budget'];
  const { measuredOn, load, machine } = how;
  const comparedWith = references === undefined ? '' : ` Compared with ${references}.`;
  return [
    `## ${title}`,
    `${code(`npm run bench ${name}`)}.${comparedWith}`,
    table(title, head, rows),
    `Measured on ${measuredOn} with Node.js ${machine.node.slice(1)} on ${machine.processors} processors (${textOf(machine.processor)}), of which other processes used ${load}.`,
  ].join('\n\n');
}

function amount(value: number, unit: string): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = value.toLocaleString('en-US', { maximumFractionDigits: digits });
  return textOf(`${text} ${unit}`.trim());
}
