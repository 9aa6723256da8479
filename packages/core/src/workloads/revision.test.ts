import { expect, test } from 'vitest';
import { aWorkload, openTestApi } from '@toolhive/api/testing';

const named = { params: { name: 'echo' } };

test('an edit is refused if the settings were changed since they were read', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  const edit = (colour: string, ifMatch?: string) =>
    api.send(
      'POST',
      '/api/v1beta/workloads/echo/edit',
      { 'content-type': 'application/json', ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
      JSON.stringify(aWorkload({ env_vars: { COLOR: colour } })),
    );
  const read = await api.get('/api/v1beta/workloads/echo');
  const tag = String(read.headers['etag']);
  const { revision } = await api.client.getWorkload(named);

  const first = await edit('red', tag);
  const second = await edit('blue', tag);
  const weak = await edit('blue', `W/"${(await api.client.getWorkload(named)).revision}"`);
  const after = await api.client.getWorkload(named);
  const current = await edit('green', `"other", "${after.revision}"`);
  const any = await edit('green', '*');
  const without = await edit('white');

  expect(tag).toBe(`"${revision}"`);
  expect([first, second, weak, current, any, without].map(({ status }) => status)).toEqual([
    200, 412, 412, 200, 200, 200,
  ]);
  expect(second.text).toContain('workload echo has changed since you read it\nhint: read it again');
  expect(after.env_vars).toEqual({ COLOR: 'red' });
  expect((await api.client.getWorkload(named)).env_vars).toEqual({ COLOR: 'white' });
});

test('the revision of a workload stays the same while its status changes', async () => {
  await using api = await openTestApi();
  await api.run('echo');

  const { revision: before } = await api.client.getWorkload(named);
  await api.client.stopWorkload(named, { onProgress: () => {} });
  const { revision: after } = await api.client.getWorkload(named);

  expect(after).toBe(before);
});
