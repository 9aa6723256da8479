// @suite system
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { GatewayNetwork, type SandboxNamespace } from '../egress/gateway-network.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { hintFor, inspectMachine } from './check.ts';

test.each([
  ['kernel.apparmor_restrict_unprivileged_userns', '1', 'AppArmor restricts user namespaces'],
  ['kernel.unprivileged_userns_clone', '0', 'kernel.unprivileged_userns_clone=1'],
  ['user.max_user_namespaces', '0', 'user.max_user_namespaces=15000'],
])('%s = %s is what to change', async (name, value, expected) => {
  const hint = await hintFor('setting up uid map: Permission denied', async (setting) =>
    setting === name ? value : undefined,
  );

  expect(hint).toContain(expected);
});

test('a limit on open files is named, and not user namespaces', async () => {
  const script = `import { GatewayNetwork } from '../egress/gateway-network.ts';
    import { GatewayProcess } from '../egress/gateway-process.ts';
    import { inspectMachine } from './check.ts';
    const found = await inspectMachine(process.env, new GatewayNetwork(new GatewayProcess()), AbortSignal.timeout(30_000));
    console.log(JSON.stringify(found));`;
  const node = [process.execPath, '--input-type=module-typescript', '-e', script];

  const { stdout } = await promisify(execFile)('prlimit', ['--nofile=64:64', '--', ...node], {
    cwd: import.meta.dirname,
  });

  expect(JSON.parse(stdout)).toEqual({
    problem: 'the daemon may open only 64 files at once',
    hint: expect.stringContaining('ulimit -n'),
  });
});

test('the namespace that shows that the machine can make one can be kept', async () => {
  const gateways = new GatewayNetwork(new GatewayProcess());
  const kept: SandboxNamespace[] = [];
  const keep = (made: SandboxNamespace): boolean => kept.push(made) > 0;

  const found = await inspectMachine(process.env, gateways, AbortSignal.timeout(30_000), keep);
  const taken = kept.map(({ address }) => address);
  for (const made of kept) gateways.drop(made);

  expect(found).toMatchObject({ machine: { egress: { tools: {} } } });
  expect(taken).toHaveLength(1);
});

test('an old bubblewrap is to be updated', async () => {
  const hint = await hintFor('Unknown option --disable-userns', async () => undefined);

  expect(hint).toContain('bubblewrap 0.8 or newer');
});
