// The budgets, measured: `npm run bench`. Names select benchmarks, `--format json` is for programs.
import { benchmarks } from './benchmarks/benchmarks.ts';
import { formatJson, formatTable } from './report.ts';
import type { Measurement } from './measurement.ts';

const words = process.argv.slice(2);
const asJson = words.join(' ').includes('--format json') || words.includes('--format=json');
const names = words.filter((word) => benchmarks.some(({ name }) => name === word));
const mistakes = words.filter((word) => !names.includes(word) && !/^(--format(=\w+)?|json|text)$/.test(word));
if (mistakes.length > 0) {
  const known = benchmarks.map(({ name }) => name).join(', ');
  throw new Error(`unknown benchmark ${mistakes.join(', ')}. The benchmarks are ${known}`);
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const note = (text: string): void => void process.stderr.write(`${text}\n`);

const measurements: Measurement[] = [];
for (const { name, run } of benchmarks) {
  if (names.length > 0 && !names.includes(name)) continue;
  note(`measuring ${name}`);
  for (const measurement of await run({ signal: interrupted.signal, note }))
    measurements.push({ benchmark: name, ...measurement });
}
process.stdout.write(asJson ? formatJson(measurements) : formatTable(measurements));
