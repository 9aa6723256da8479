// @suite engines
import { chmod, link, mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram } from '../../programs.ts';
import { aLaunch, waitFor } from '../../testing/conformance.ts';
import { TEST_IMAGE, buildFromScratch, programFiles } from '../../testing/docker-engine.ts';
import { engineSocket } from '../../testing/engines.ts';
import { describeNetworkRules } from '../../testing/network-rules.ts';
import type { RulesPlace } from '../../testing/network-rules.ts';
import { TestEgress } from '../../testing/test-egress.ts';
import { OrdinaryDaemon, statusOf } from '../../testing/ordinary-runtime.ts';
import { type OrdinaryUser, openOrdinaryUser } from '../../testing/ordinary-user.ts';
import { canMakeNetworks } from '../../testing/stand-in-hosts.ts';
import * as z from 'zod';
import { callEngine, connectEngine } from '../engine.ts';
import { withRetries } from '../retry.ts';

const source = { kind: 'image', image: TEST_IMAGE } as const;
const relayImage = 'toolhive-test-relay:1';
const busybox = await findProgram('busybox', process.env);

/** Stands for the image with Node.js that the engine would pull. */
async function buildRelayImage(socket: string): Promise<void> {
  const files = await programFiles({ node: process.execPath });
  for (const program of ['sh', 'ip']) files.set(`bin/${program}`, busybox ?? ''); // a static program
  await buildFromScratch(socket, relayImage, 'FROM scratch\nCOPY files/ /\nENV PATH=/bin', files);
}

describe.each(['docker', 'podman'] as const)('%s whose processes the daemon cannot see', async (name) => {
  const socket = await engineSocket(name);
  const isPossible = socket !== '' && canMakeNetworks && busybox !== undefined;
  describe.runIf(isPossible)('network rules (as root, with iproute2 and busybox)', () => {
    let user: OrdinaryUser;
    let folder: string;
    let shared: string;

    beforeAll(async () => {
      await buildRelayImage(socket);
      user = await openOrdinaryUser();
      folder = await mkdtemp(join(tmpdir(), 'thv-engine-'));
      await chmod(folder, 0o755);
      shared = join(folder, 'engine.sock');
      await link(socket, shared);
      await chmod(shared, 0o666);
    });
    afterAll(async () => {
      await rm(folder, { recursive: true, force: true });
      await user[Symbol.asyncDispose]();
    });

    if (name === 'docker') {
      const open = async (nameServer: string): Promise<RulesPlace> => {
        const daemon = await OrdinaryDaemon.start(user, shared, { nameServer, relayImage });
        return { runtime: daemon, source, [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose]() };
      };
      describeNetworkRules({ node: 'node' }, open, { refusesLocalPorts: true });
    }

    const network = () => ({ kind: 'rules', egress: new TestEgress() }) as const;

    test('a server that speaks HTTP is reached, also on a usual port', async () => {
      await using daemon = await OrdinaryDaemon.start(user, shared, { relayImage });
      const http = { args: ['http'], transport: { kind: 'http', targetPort: 8080 } } as const;
      await using server = await daemon.start(
        aLaunch(source, { workload: 'relayed-http', ...http, env: { MCP_PORT: '8080' }, network: network() }),
      );

      const status = await waitFor(() => statusOf(server));

      expect(status).toBeGreaterThanOrEqual(200);
    });

    test('a server ends with the process of the gateways, because nothing can continue in the middle of a stream', async () => {
      await using daemon = await OrdinaryDaemon.start(user, shared, { relayImage });
      await using server = await daemon.start(
        aLaunch(source, { workload: 'relay-lost', network: network() }),
      );
      const { output } = server.stdio ?? {};
      if (output === undefined) throw new Error('the server speaks no stdio');
      const ended = once(output.resume(), 'close');

      await daemon.killGateways();

      await expect(ended).resolves.toBeDefined();
    });

    test('only the container of the gateway has a power, and nothing is left of it', async () => {
      const engine = await connectEngine(socket);
      const listed = async () => {
        const shape = z.array(z.object({ Id: z.string(), Image: z.string(), Names: z.array(z.string()) }));
        const query = { all: '1' };
        // Podman cannot list containers while others are removed.
        const containers = await withRetries(/container not known/, () =>
          callEngine(engine, shape, { method: 'GET', path: '/containers/json', query }),
        );
        return containers.filter(({ Image }) => Image.includes('toolhive-test-relay'));
      };
      const before = await listed();
      const daemon = await OrdinaryDaemon.start(user, shared, { relayImage });
      const server = await daemon.start(aLaunch(source, { workload: 'relayed', network: network() }));
      const [relay, ...others] = (await listed()).filter(({ Id }) => !before.some((one) => one.Id === Id));

      await callEngine(engine, z.unknown(), { method: 'POST', path: `/containers/${relay?.Id}/kill` });
      await server[Symbol.asyncDispose]();
      await daemon[Symbol.asyncDispose]();

      expect(relay?.Names.join()).toContain('toolhive-network-');
      expect(others).toEqual([]);
      expect((await listed()).map(({ Id }) => Id)).toEqual(before.map(({ Id }) => Id));
    });
  });
});
