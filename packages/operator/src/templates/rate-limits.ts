import type { RemoteProxySpec, ServerSpec } from './run-config.ts';

type RateLimiting = NonNullable<ServerSpec['rateLimiting']>;
type Limit = NonNullable<RateLimiting['shared']>;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The argument with the rate limits of a spec, or none. */
export function rateLimitArgs({ rateLimiting }: ServerSpec | RemoteProxySpec): string[] {
  if (rateLimiting === undefined) return [];
  const { tools = [] } = rateLimiting;
  const byName = Object.fromEntries(tools.map(({ name, ...limits }) => [name, scoped(limits)]));
  return [`--rate-limits=${JSON.stringify({ ...scoped(rateLimiting), tools: byName })}`];
}

function scoped({ shared, perUser }: Pick<RateLimiting, 'shared' | 'perUser'>): object {
  return { shared: limitOf(shared), perUser: limitOf(perUser) };
}

function limitOf(limit: Limit | undefined): object | undefined {
  if (limit === undefined) return undefined;
  const parts = limit.refillPeriod.matchAll(/(\d+)(ms|s|m|h)/g);
  const refillMs = [...parts].reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (unitMs[unit] ?? 0),
    0,
  );
  return { maxTokens: limit.maxTokens, refillMs: Math.max(refillMs, 1) };
}
