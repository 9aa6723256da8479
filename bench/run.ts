// The budgets, measured: `npm run bench`. Names select benchmarks, `--format json` is for programs, and `--publish`
// replaces the figures of the documentation.
import { parseArgs } from 'node:util';
import { benchmarks } from './benchmarks/benchmarks.ts';
import { loadOfOthers, maxLoad, publish, published } from './published.ts';
import { formatJson, formatTable } from './report.ts';
import type { Measurement } from './measurement.ts';

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { format: { type: 'string', default: 'text' }, publish: { type: 'boolean', default: false } },
});
const mistakes = names.filter((word) => !benchmarks.some(({ name }) => name === word));
if (mistakes.length > 0) {
  const known = benchmarks.map(({ name }) => name).join(', ');
  throw new Error(`unknown benchmark ${mistakes.join(', ')}. The benchmarks are ${known}`);
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const note = (text: string): void => void process.stderr.write(`${text}\n`);

const measurements: Measurement[] = [];
for (const benchmark of benchmarks) {
  const { name, run } = benchmark;
  if (names.length > 0 && !names.includes(name)) continue;
  note(`measuring ${name}`);
  const before = values.publish ? await loadOfOthers() : 0;
  if (isTooBusy(name, before)) continue;
  const figures = await run({ signal: interrupted.signal, note });
  for (const figure of figures) measurements.push({ benchmark: name, ...figure });
  if (!values.publish) continue;
  const load = Math.max(before, await loadOfOthers());
  if (!isTooBusy(name, load)) await publish(name, published(benchmark, figures, load));
}
process.stdout.write(values.format === 'json' ? formatJson(measurements) : formatTable(measurements));

/** Says why figures are not published: on a busy machine the reference slows down more than the product. */
function isTooBusy(name: string, load: number): boolean {
  if (load <= maxLoad) return false;
  note(
    `the figures of ${name} stay as they are: other processes use ${load.toFixed(2)} processors, and at most ${maxLoad} are allowed. Stop them and try again`,
  );
  process.exitCode = 1;
  return true;
}
