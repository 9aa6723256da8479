import { expect, test } from 'vitest';
import { createClient } from './client.ts';

const call = { params: { name: 'math' } };

/** A client whose daemon finds nothing. */
const clientOf = (text: (path: string) => string, options?: { offersAll: boolean }) =>
  createClient(
    async ({ path }) => ({
      status: 404,
      contentType: 'text/plain',
      body: (async function* () {
        yield text(path);
      })(),
    }),
    options,
  );

test('a daemon of another version is named if it does not know the operation', async () => {
  const client = clientOf((path) => `${path} not found\n`, { offersAll: true });

  await expect(client.getWorkload(call)).rejects.toMatchObject({
    kind: 'unsupported',
    message: 'the daemon has no operation GET /workloads/{name}, because it is of another version',
  });
});

test('an object that does not exist is not taken for that', async () => {
  const client = clientOf(() => 'workload math not found\n', { offersAll: true });

  await expect(client.getWorkload(call)).rejects.toMatchObject({
    kind: 'not-found',
    message: 'workload math not found',
  });
});

test('an address that does not offer an operation is not taken for a daemon of another version', async () => {
  const client = clientOf((path) => `${path} not found\n`);

  await expect(client.getWorkload(call)).rejects.toMatchObject({ kind: 'not-found' });
});
