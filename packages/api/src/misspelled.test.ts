import { operations } from '@toolhive/contract/operations';
import { ThvError } from '@toolhive/contract/failure';
import { expect, test } from 'vitest';
import { refuseMisspelled } from './misspelled.ts';

/** The pointer and the text for the first misspelled field of a request for a workload, or undefined. */
function found(body: object): string | undefined {
  try {
    refuseMisspelled(operations.createWorkload.body, body);
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    const [problem] = thrown.problems;
    return `${problem?.pointer} ${problem?.detail}`;
  }
  return undefined;
}

test.for([
  [{ permision_profile: 'none' }, '/permision_profile', 'permission_profile'],
  [{ permissionProfile: 'none' }, '/permissionProfile', 'permission_profile'],
  [{ 'network-isolation': true }, '/network-isolation', 'network_isolation'],
  [{ Authz_Config: '{}' }, '/Authz_Config', 'authz_config'],
  [{ env: { TOKEN: 'x' } }, '/env', 'env_vars'],
  [{ args: ['--read-only'] }, '/args', 'cmd_arguments'],
  [{ tool: ['read'] }, '/tool', 'tools'],
  [{ permission_profile: { netwrok: {} } }, '/permission_profile/netwrok', 'network'],
  [{ permission_profile: { raed: ['/tmp'], network: {} } }, '/permission_profile/raed', 'read'],
  [
    {
      secrets: [
        { name: 'a', targt: 'B', target: 'B' },
        { name: 'a', traget: 'B' },
      ],
    },
    undefined,
    '',
  ],
] as const)('%j has a misspelled field', ([body, pointer, meant]) => {
  const text = pointer === undefined ? undefined : `${pointer} unknown field, did you mean ${meant}?`;

  expect(found({ image: 'npx://server', ...body })).toBe(text);
});

test.for([
  [{ image_pull_policy: 'always' }],
  [{ audit_config_ref: 'name' }],
  [{ env: { A: 'x' }, env_vars: { A: 'x' } }],
  [{ registry_server_name: 'server' }],
  [{ ['x'.repeat(1_000_000)]: 1 }],
  [{ ...Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`later_${n}`, n])), tool: [] }],
  [{ env_vars: { permision_profile: 'a value of the user' } }],
] as const)('what later versions may send has no effect (%#)', ([body]) => {
  expect(found({ image: 'npx://server', ...body })).toBeUndefined();
});
