// @suite system
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GatewayNetwork } from '../egress/gateway-network.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { findEgressTools } from '../egress/tools.ts';
import { waitFor } from '../testing/conformance.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { processesWith } from './test-rig.ts';

/** Only the helper of this run has it in its command line, and no connection is given it by chance. */
const port = 20_000 + (process.pid % 10_000);

/** A daemon that makes a network. */
const daemon = `
import { GatewayNetwork } from ${JSON.stringify(new URL('../egress/gateway-network.ts', import.meta.url).href)};
import { GatewayProcess } from ${JSON.stringify(new URL('../egress/gateway-process.ts', import.meta.url).href)};
import { findEgressTools } from ${JSON.stringify(new URL('../egress/tools.ts', import.meta.url).href)};
await new GatewayNetwork(new GatewayProcess()).listen(await findEgressTools(process.env), [${port}]);
`;

describe.runIf(canMakeNetworks)('the helper that makes a network (as root, with iproute2)', () => {
  test('tells what kept it from that', async () => {
    const tools = await findEgressTools(process.env);
    if ('problem' in tools) throw new Error(tools.problem);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-helper-'));
    const ip = join(folder.path, 'ip');
    await writeFile(ip, '#!/bin/sh\necho Operation not supported >&2\nexit 2\n', { mode: 0o755 });

    const opening = new GatewayNetwork(new GatewayProcess()).makeNamespace({ ...tools, ip });

    await expect(opening).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the network for a sandbox cannot be created: Operation not supported',
    });
  });

  test('ends with a daemon that is killed meanwhile', async () => {
    const helpers = () => processesWith(`\0${port}\0`);
    const start = () => spawn(process.execPath, ['--input-type=module', '-e', daemon], { stdio: 'ignore' });
    let child = start();
    // The helper is there for a moment only. One that has done its work already does not count.
    await waitFor(async () => {
      if (child.exitCode !== null) child = start();
      return (await helpers()).length > 0;
    });

    child.kill('SIGKILL');
    if (child.exitCode === null) await once(child, 'exit');

    await waitFor(async () => (await helpers()).length === 0);
    expect(await helpers()).toEqual([]);
  });
});
