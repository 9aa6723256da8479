// @suite engines
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram } from '../programs.ts';
import { aLaunch, waitFor } from '../testing/conformance.ts';
import {
  TEST_IMAGE,
  type TestEngine,
  buildTestImage,
  startRootlessPodman,
} from '../testing/docker-engine.ts';
import { describeNetworkRules } from '../testing/network-rules.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { OrdinaryDaemon, statusOf } from '../testing/ordinary-runtime.ts';
import { type OrdinaryUser, openOrdinaryUser } from '../testing/ordinary-user.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { openDockerRuntime } from './docker.ts';

const everywhere = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
const programs = await Promise.all(
  ['podman', 'newuidmap', 'setpriv'].map((name) => findProgram(name, everywhere)),
);
const source = { kind: 'image', image: TEST_IMAGE } as const;
const hasPodman = programs.every((program) => program !== undefined);

describe.runIf(canMakeNetworks && hasPodman)(
  'network rules in a rootless Podman (as an ordinary user)',
  () => {
    let user: OrdinaryUser;
    let engine: TestEngine;

    beforeAll(async () => {
      user = await openOrdinaryUser();
      engine = await startRootlessPodman(user);
      await buildTestImage(engine);
    });
    afterAll(async () => {
      await engine[Symbol.asyncDispose]();
      await user[Symbol.asyncDispose]();
    });

    describeNetworkRules({ node: 'node' }, async (nameServer) => {
      const daemon = await OrdinaryDaemon.start(user, engine.socket, { nameServer });
      return {
        runtime: daemon,
        source,
        killGateways: () => daemon.killGateways(),
        [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
      };
    });

    test('the engine is known as rootless', async () => {
      const tempDir = await user.folder('report');
      const { socket } = engine;

      const { detail, limits } = await openDockerRuntime({
        daemonId: 'report',
        env: process.env,
        tempDir,
        recordsDir: tempDir,
        socket,
      }).check();

      expect(detail).toContain('rootless');
      expect(limits.map(({ text }) => text).join()).not.toContain('root in a container is root outside');
    });

    test('a server that speaks HTTP is reached', async () => {
      await using daemon = await OrdinaryDaemon.start(user, engine.socket);
      const http = { args: ['http'], transport: { kind: 'http', targetPort: 8080 } } as const;
      const env = { MCP_PORT: '8080', MCP_HOST: '127.0.0.1' };
      const network = { kind: 'rules', egress: new TestEgress() } as const;
      await using server = await daemon.start(aLaunch(source, { ...http, env, network }));

      const status = await waitFor(() => statusOf(server));

      expect(status).toBeGreaterThanOrEqual(200);
    });
  },
);
