import lighthouse, { type Flags, type Result } from 'lighthouse';
import { pageKinds, type PageKind } from './weight.ts';
import { median } from '../../../bench/statistics.ts';
import { atLeast, atMost, seconds, type Section } from '../../../bench/tables.ts';
import type { ServedSite } from './served.ts';

/** Time depends on what else the machine does, so it is measured more often than once. */
const rounds = 3;
const categories = ['performance', 'accessibility', 'best-practices', 'seo'] as const;
type Category = (typeof categories)[number];

const enough: Record<Category, number> = {
  performance: 95,
  accessibility: 100,
  'best-practices': 100,
  seo: 95,
};

/** What Lighthouse says to a page of each kind, on a slow phone with a slow connection. */
export async function judgedPages(site: ServedSite, note: (text: string) => void): Promise<Section> {
  process.on('unhandledRejection', endUnlessLate);
  const rows: Section['rows'][number][] = [];
  const speeds = await speedsOf(site);
  for (const kind of pageKinds) {
    note(`asking Lighthouse about ${kind.path}, slowed down ${slowdownAt(speeds).toFixed(1)} times`);
    const judged: Judged[] = [];
    for (let round = 0; round < rounds; round++) {
      const one = await judge(site, kind, slowdownAt(speeds));
      speeds.push(one.speed);
      judged.push(one);
    }
    const middle = (value: (one: Judged) => number): number => median(judged.map(value));
    const score = (category: Category): ReturnType<typeof atLeast> =>
      atLeast(
        middle(({ scores }) => scores[category]),
        enough[category],
      );
    rows.push([
      kind.name,
      score('performance'),
      score('accessibility'),
      kind.isMissing ? String(middle(({ scores }) => scores['best-practices'])) : score('best-practices'),
      kind.isUnlisted ? '–' : score('seo'),
      seconds(middle(({ largestPaintMs }) => largestPaintMs)),
      `${Math.round(middle(({ blockedMs }) => blockedMs))} ms`,
      atMost(
        middle(({ shift }) => shift),
        noShift,
        (value) => value.toFixed(3),
      ),
    ]);
  }
  return {
    title: 'Lighthouse, as on a phone in the middle of the market',
    head: [
      'Page',
      'Performance (95)',
      'Accessibility (100)',
      'Best practices (100)',
      'SEO (95)',
      'Largest paint',
      'Blocked',
      'Shift',
    ],
    rows,
  };
}

/** Lighthouse closes its page when it is done, and does not wait for all that it has asked of it. */
function endUnlessLate(error: unknown): void {
  if (error instanceof Error && error.message.includes('Session closed')) return;
  throw error;
}

/** Shifts that readers cannot see. Google accepts ten times as much. */
const noShift = 0.01;

interface Judged {
  scores: Record<Category, number>;
  largestPaintMs: number;
  blockedMs: number;
  shift: number;
  /** How fast this machine was then, as Lighthouse measures it. */
  speed: number;
}

async function judge(site: ServedSite, { path }: PageKind, slowdown: number): Promise<Judged> {
  const lhr = await ask(site, path, {
    onlyCategories: [...categories],
    throttling: { cpuSlowdownMultiplier: slowdown },
  });
  const figure = (audit: string): number => lhr.audits[audit]?.numericValue ?? Number.NaN;
  return {
    scores: Object.fromEntries(
      categories.map((name) => [name, Math.round((lhr.categories[name]?.score ?? 0) * 100)]),
    ) as Record<Category, number>, // each of them
    largestPaintMs: figure('largest-contentful-paint'),
    blockedMs: figure('total-blocking-time'),
    shift: figure('cumulative-layout-shift'),
    speed: lhr.environment.benchmarkIndex,
  };
}

/** How fast this machine is, so many times. */
async function speedsOf(site: ServedSite): Promise<number[]> {
  const speeds: number[] = [];
  for (let round = 0; round < rounds; round++)
    speeds.push((await ask(site, '/', { onlyAudits: ['document-title'] })).environment.benchmarkIndex);
  return speeds;
}

/**
 * How many times slower a phone in the middle of the market is than this machine was lately: what shares its processors
 * makes it another from minute to minute. Lighthouse takes it for a desktop computer and four times; its makers advise to
 * ask less of what is none.
 */
function slowdownAt(speeds: readonly number[]): number {
  const lately = median(speeds.slice(-rounds));
  return Math.min(desktop.slowdown, Math.max(1, (desktop.slowdown * lately) / desktop.speed));
}

/** What Lighthouse makes of the machines that its four times are meant for. */
const desktop = { speed: 1500, slowdown: 4 };

async function ask({ address, debuggingPort }: ServedSite, path: string, settings: Flags): Promise<Result> {
  const result = await lighthouse(address + path, {
    port: debuggingPort,
    logLevel: 'error',
    ignoreStatusCode: true, // the page that is not there is a page, too
    ...settings,
  });
  if (result === undefined) throw new Error(`Lighthouse says nothing about ${path}`);
  if (result.lhr.runtimeError !== undefined) throw new Error(result.lhr.runtimeError.message);
  return result.lhr;
}
