import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { judge } from './measurement.ts';
import type { Figure } from './measurement.ts';

/** The figures of one benchmark that the documentation publishes, and how they were measured. */
export interface PublishedBenchmark {
  title: string;
  /** What the references are. */
  references?: string;
  /** The date, as in 2026-11-26. */
  measuredOn: string;
  machine: { node: string; processor: string; processors: number };
  /** How many processors other processes used before and after the measurement: the larger number. */
  load: number;
  figures: readonly PublishedFigure[];
}

interface PublishedFigure extends Figure {
  /** The comparison with the reference as text. Absent if there is none. */
  compared?: string;
  limit?: string;
  holds?: boolean;
}

/** The published figures by the name of the benchmark, which the documentation reads, too. */
const file = new URL('data/published.json', import.meta.url);
/** How many processors other processes may use. */
export const maxLoad = 0.3;
const watchedMs = 3_000;

/** Returns how many processors other processes use while this one waits. */
export async function loadOfOthers(): Promise<number> {
  const [before, own, since] = [busyMs(), process.cpuUsage(), performance.now()];
  await delay(watchedMs);
  const { user, system } = process.cpuUsage(own);
  return Math.max(0, (busyMs() - before - (user + system) / 1000) / (performance.now() - since));
}

function busyMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}

/** Returns figures with everything that a reader needs to judge them. */
export function published(
  { title, references }: { title: string; references?: string },
  figures: readonly Figure[],
  load: number,
): PublishedBenchmark {
  const [first] = cpus();
  return {
    title,
    ...(references === undefined ? {} : { references }),
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: {
      node: process.version,
      processor: first?.model.trim() ?? 'unknown',
      processors: cpus().length,
    },
    load: Number(load.toFixed(2)),
    figures: figures.map((figure) => {
      const { text, budget, holds } = judge(figure);
      return {
        ...figure,
        ...(figure.reference === undefined ? {} : { compared: text }),
        ...(budget === undefined ? {} : { limit: budget, holds }),
      };
    }),
  };
}

/** Replaces the published figures of one benchmark. */
export async function publish(name: string, benchmark: PublishedBenchmark): Promise<void> {
  const before = JSON.parse(await readFile(file, 'utf8')) as Record<string, PublishedBenchmark>;
  await writeFile(file, `${JSON.stringify({ ...before, [name]: benchmark }, null, 2)}\n`);
}
