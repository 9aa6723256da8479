import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/creation/create.ts';
import { getSetting } from './operate.ts';

test.each([
  ['sampling-rate', 'abc', 'otel-sampling-rate', /"abc" is not a number/],
  ['env-vars', [1, 2], 'otel-env-vars', /\[1,2\] is not a valid value/],
] as const)(
  'a workload is refused with the name of the setting when %s is %j',
  async (key, value, name, why) => {
    await using home = await makeHome();
    await using core = await openTestCore(home);
    await core.settings.change([['otel', key], value]);

    const created = createWorkload(
      core,
      { image: testServer },
      { report() {}, signal: AbortSignal.timeout(5_000) },
    );

    await expect(created).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`the setting ${name} in config.yaml`),
      hint: expect.stringContaining(`thv config otel unset-${key}`),
    });
    await expect(created).rejects.toThrow(why);
    expect(getSetting(core, name)).toMatchObject({ value: null, problem: expect.stringMatching(why) });
  },
);
