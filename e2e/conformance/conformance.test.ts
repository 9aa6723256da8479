import { afterAll, beforeAll, describe, test } from 'vitest';
import { failuresOf, passes, revisions, runSuite } from './suite.ts';
import type { Revision, Scenario } from './suite.ts';
import { eraOf, openEndpoints, targets } from './targets.ts';
import type { Endpoints, Era, Target } from './targets.ts';

interface Combination extends Target {
  revision: Revision;
}

/** What no proxy can pass, because the server's era has no way to say it. */
const inexpressible: Partial<Record<`${Revision}/${Era}`, readonly string[]>> = {
  // It wants the name under which the server asks its question, and questions had none.
  '2026-07-28/legacy': ['input-required-result-basic-elicitation'],
};

const combinations: Combination[] = revisions.flatMap((revision) =>
  targets.map((target) => ({ revision, ...target })),
);

let endpoints: Endpoints;
let directly: Record<Revision, Promise<Scenario[]>>;

beforeAll(async () => {
  endpoints = await openEndpoints();
  const run = (revision: Revision) => runSuite(revision, endpoints.direct(eraOf[revision]));
  directly = { '2025-11-25': run('2025-11-25'), '2026-07-28': run('2026-07-28') };
});
afterAll(() => endpoints?.[Symbol.asyncDispose]());

describe.concurrent('the official conformance suite', () => {
  test.for(revisions)('passes for %s against a server itself', async (revision, { expect }) => {
    const scored = (await directly[revision]).filter(({ isScored }) => isScored);

    expect(scored.length).toBeGreaterThan(20);
    expect(failuresOf(scored)).toEqual([]);
  });

  test.for(combinations)(
    'passes for $revision through the proxy of a $era server over $transport',
    async (combination, { expect }) => {
      const { revision, era } = combination;
      const gaps = inexpressible[`${revision}/${era}`] ?? [];
      const expected = (await directly[revision])
        .filter((scenario) => scenario.isScored && passes(scenario) && !gaps.includes(scenario.name))
        .map(({ name }) => name);

      const scenarios = await runSuite(revision, await endpoints.proxied(combination));

      expect(failuresOf(scenarios.filter(({ name }) => expected.includes(name)))).toEqual([]);
    },
  );
});
