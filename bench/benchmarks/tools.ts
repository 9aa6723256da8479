import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import type { SearchableTool } from '@toolhive/tool-search/tool-index';
import type { Figure } from '../measurement.ts';
import { quantile } from '../statistics.ts';
import { ourRanking, plainRanking, qualityOf, readToolE } from '../tool-ranking.ts';
import type { ToolE } from '../tool-ranking.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const indexed = 2_800;
const queries = 2_000;

/** How well `find_tool` ranks the tools of ToolE, beside plain BM25, and the time and memory that 2,800 tools need. */
export async function tools({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  const data = readToolE();
  const [ours, plain] = [await ourRanking(data.tools), plainRanking(data.tools)];
  const figures: Figure[] = [];
  for (const { name, questions, budgets } of [
    { name: 'one tool', questions: data.single, budgets: [0.62, 0.62, 0.62] },
    { name: 'two tools', questions: data.multi, budgets: [0.73, 0.73, 0.73] },
  ]) {
    signal.throwIfAborted();
    note(`ranking the tools for ${questions.length} questions about ${name}`);
    const [own, other] = [qualityOf(ours, questions), qualityOf(plain, questions)];
    for (const [at, part] of (['all', 'tuning', 'heldOut'] as const).entries())
      figures.push({
        what: `nDCG@5 of questions about ${name} (${part === 'heldOut' ? 'held out' : part}), beside plain BM25`,
        unit: '',
        ours: own[part],
        reference: other[part],
        comparison: 'at least itself',
        budget: budgets[at],
      });
    await turn();
  }
  return [...figures, ...(await sizeOf(data, signal))];
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)(); // the flag defines it
}

async function sizeOf(data: ToolE, signal: AbortSignal): Promise<Figure[]> {
  const many = manyTools(data);
  void many.map((tool) => JSON.stringify(tool)); // flattens the texts, which belong to the tools
  await ToolIndex.build(many.slice(0, 500)); // compiles the code
  collectGarbage();
  const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const startedMs = performance.now();
  const index = await ToolIndex.build(many);
  const buildMs = performance.now() - startedMs;
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before;
  const latenciesMs: number[] = [];
  for (let at = 0; at < queries; at++) {
    signal.throwIfAborted();
    const { text = '' } = data.single[(at * 7919) % data.single.length] ?? {};
    const askedMs = performance.now();
    index.search(text, { limit: 8 });
    latenciesMs.push(performance.now() - askedMs);
  }
  const what = `${indexed} tools`;
  return [
    { what: `${what}, index`, unit: 'ms', ours: buildMs, comparison: 'itself', budget: 500 },
    { what: `${what}, memory`, unit: 'MB', ours: bytes / 1e6, comparison: 'itself', budget: 20 },
    { what: `${what}, query p50`, unit: 'ms', ours: quantile(latenciesMs, 0.5), comparison: 'itself' },
    {
      what: `${what}, query p99`,
      unit: 'ms',
      ours: quantile(latenciesMs, 0.99),
      comparison: 'itself',
      budget: 3,
    },
  ];
}

/** Tools of 140 servers, with descriptions and parameters of about the length of real ones. */
function manyTools({ tools: known, single }: ToolE): SearchableTool[] {
  return Array.from({ length: indexed }, (_, at) => {
    const { name, description } = known[at % known.length] ?? { name: '', description: '' };
    const said = [1, 2, 3].map((nth) => single[(at * 31 + nth * 997) % single.length]?.text ?? '');
    return {
      id: `tool-${at}`,
      server: `server-${Math.floor(at / 20)}`,
      name: `${name}_${at}`,
      description: `${description} ${said.join(' ')}`,
      inputSchema: {
        type: 'object',
        properties: { query: { description: said[0] }, limit: { description: said[1] } },
      },
    };
  });
}
