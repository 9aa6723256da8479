// @suite engines
import { chmod, link, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aLaunch, waitFor } from '../testing/conformance.ts';
import { TEST_IMAGE } from '../testing/docker-engine.ts';
import { engineSocket } from '../testing/engines.ts';
import { describeNetworkRules } from '../testing/network-rules.ts';
import type { RulesPlace } from '../testing/network-rules.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { OrdinaryDaemon, statusOf } from '../testing/ordinary-runtime.ts';
import { type OrdinaryUser, openOrdinaryUser } from '../testing/ordinary-user.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import * as z from 'zod';
import { callEngine, connectEngine } from './engine.ts';
import { withRetries } from './retry.ts';

const source = { kind: 'image', image: TEST_IMAGE } as const;

describe.each(['docker', 'podman'] as const)('%s of root, used by an ordinary user', async (name) => {
  const socket = await engineSocket(name);
  describe.runIf(socket !== '' && canMakeNetworks)('network rules (as root, with iproute2)', () => {
    let user: OrdinaryUser;
    let folder: string;
    let shared: string;

    beforeAll(async () => {
      user = await openOrdinaryUser();
      folder = await mkdtemp(join(tmpdir(), 'thv-engine-'));
      await chmod(folder, 0o755);
      shared = join(folder, 'engine.sock');
      await link(socket, shared); // the engine's own folder is closed to others
      await chmod(shared, 0o666); // as if the user were in the engine's group
    });
    afterAll(async () => {
      await rm(folder, { recursive: true, force: true });
      await user[Symbol.asyncDispose]();
    });

    // The engines differ only in how they start containers, so that one of them is enough for all cases.
    if (name === 'docker') {
      const open = async (nameServer: string): Promise<RulesPlace> => {
        const daemon = await OrdinaryDaemon.start(user, shared, { nameServer });
        return {
          runtime: daemon,
          source,
          killGateways: () => daemon.killGateways(),
          [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
        };
      };
      describeNetworkRules({ node: 'node' }, open, { refusesLocalPorts: true });
    }

    test('a server that speaks HTTP is reached, but not through its loopback address', async () => {
      await using daemon = await OrdinaryDaemon.start(user, shared);
      const http = { args: ['http'], transport: { kind: 'http', targetPort: 8080 } } as const;
      const network = { kind: 'rules', egress: new TestEgress() } as const;
      await using server = await daemon.start(
        aLaunch(source, { ...http, env: { MCP_PORT: '8080' }, network }),
      );

      const status = await waitFor(() => statusOf(server));

      expect(status).toBeGreaterThanOrEqual(200);
    });

    test('no container with powers is left', async () => {
      const engine = await connectEngine(socket);
      const connectors = async (): Promise<string[]> => {
        const query = { all: '1' };
        const listed = z.array(z.object({ Names: z.array(z.string()) }));
        // Podman cannot list containers while others are removed.
        const containers = await withRetries(/container not known/, () =>
          callEngine(engine, listed, { method: 'GET', path: '/containers/json', query }),
        );
        return containers.flatMap(({ Names }) => Names).filter((name) => name.includes('toolhive-connector'));
      };
      const before = await connectors();
      await using daemon = await OrdinaryDaemon.start(user, shared);
      const network = { kind: 'rules', egress: new TestEgress() } as const;
      await using _server = await daemon.start(aLaunch(source, { network }));

      // The daemon is preparing another network meanwhile, for which it also needs one.
      const isGone = await waitFor(async () => (await connectors()).every((name) => before.includes(name)));

      expect(isGone).toBe(true);
    });
  });
});
