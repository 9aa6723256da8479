import { expect, test } from 'vitest';
import * as z from 'zod';
import { advice, fixes } from './fixes.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations/operations.ts';
import { Fix } from './schemas/fix.ts';

const all = Object.entries(fixes).map(
  ([key, fix]) => [key, typeof fix === 'function' ? fix('cursor') : fix] as const,
);

test.each(all)('%s is a fix that its operation accepts', (_key, fix) => {
  const { params, body } = (operations as Record<string, Operation>)[fix.operation] ?? {};
  const isPartial = body instanceof z.ZodObject;

  expect(Fix.parse(fix)).toEqual(fix);
  expect(Object.keys(fix.parameters ?? {})).toEqual(Object.keys(params?.shape ?? {}));
  expect(() => (isPartial ? body.partial().parse(fix.body ?? {}) : undefined)).not.toThrow();
});

test('a hint keeps its text for people with a terminal', () => {
  expect(advice('run thv restart a', fixes.restart('a'))).toEqual({
    hint: 'run thv restart a',
    fixes: [{ label: 'Restart', operation: 'restartWorkload', parameters: { name: 'a' } }],
  });
});
