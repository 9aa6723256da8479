import { expect, test } from 'vitest';
import { createClient } from './client.ts';

const call = { params: { name: 'math' } };

/** A client whose daemon answers everything with one status and text. */
const clientOf = (status: number, text: (path: string) => string) =>
  createClient(async ({ path }) => ({
    status,
    contentType: 'text/plain',
    body: (async function* () {
      yield text(path);
    })(),
  }));

test('a daemon of another version is named if it does not know the operation', async () => {
  const client = clientOf(404, (path) => `${path} not found\n`);

  await expect(client.getWorkload(call)).rejects.toMatchObject({
    kind: 'unsupported',
    message: 'the daemon has no operation GET /workloads/{name}, because it is of another version',
  });
});

test('an object that does not exist is not taken for that', async () => {
  const client = clientOf(404, () => 'workload math not found\n');

  await expect(client.getWorkload(call)).rejects.toMatchObject({
    kind: 'not-found',
    message: 'workload math not found',
  });
});
