import { expect, test } from 'vitest';
import { operation } from './operation.ts';
import { operations } from './operations/operations.ts';
import type { Operation } from './operation.ts';

const complete = {
  method: 'GET',
  path: '/example',
  tag: 'system',
  access: 'read',
  command: 'none',
  summary: 'Get an example',
  success: { status: 204, description: 'Nothing.' },
  failures: [],
} as const;

test('an operation that does not declare its access or its command does not compile', () => {
  const { access: _access, ...withoutAccess } = complete;
  const { command: _command, ...withoutCommand } = complete;

  const declared = operation(complete);
  // @ts-expect-error -- without `access`, nothing would tell whether read-only callers can use the operation
  operation(withoutAccess);
  // @ts-expect-error -- an operation without a command says so
  operation(withoutCommand);
  // @ts-expect-error -- not one of the kinds of access
  operation({ ...complete, access: 'bodies' });

  expect(declared).toBe(complete);
});

test('operations that replace or remove something are not open to read-only callers', () => {
  const changing = Object.values<Operation>(operations).filter(({ method }) =>
    ['PUT', 'DELETE'].includes(method),
  );

  expect(changing.length).toBeGreaterThan(5);
  for (const { access } of changing) expect(access).toBe('write');
});
