import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Launch } from '../runtime.ts';
import { aLaunch } from '../testing/conformance.ts';
import { containerSpec, requireReachable } from './spec.ts';

const image = { kind: 'image', image: 'example/server:1' } as const;
const http = { transport: { kind: 'http', targetPort: 8080 }, network: { kind: 'open' } } as const;

test('gives a server the launch and nothing else', () => {
  const launch = aLaunch(image, {
    env: { KEY: 'value' },
    labels: { 'toolhive-group': 'default', toolhive: 'no' },
  });

  expect(spec(launch)).toMatchInlineSnapshot(`
    {
      "AttachStderr": true,
      "AttachStdin": true,
      "AttachStdout": true,
      "Cmd": [
        "echo",
      ],
      "Env": [
        "KEY=value",
      ],
      "HostConfig": {
        "AutoRemove": false,
        "CapDrop": [
          "ALL",
        ],
        "Init": true,
        "LogConfig": {
          "Config": {},
          "Type": "none",
        },
        "Memory": 536870912,
        "MemorySwap": 536870912,
        "Mounts": [],
        "NanoCpus": 1000000000,
        "NetworkMode": "none",
        "PidsLimit": 64,
        "ReadonlyRootfs": true,
        "RestartPolicy": {
          "Name": "no",
        },
        "SecurityOpt": [
          "no-new-privileges",
        ],
        "Tmpfs": {
          "/run": "rw,noexec,nosuid,nodev,mode=1777,size=16m",
          "/tmp": "rw,exec,nosuid,nodev,mode=1777",
        },
        "Ulimits": [
          {
            "Hard": 1024,
            "Name": "nofile",
            "Soft": 1024,
          },
        ],
      },
      "Image": "example/server:1",
      "Labels": {
        "toolhive": "true",
        "toolhive-basename": "test-server",
        "toolhive-group": "default",
        "toolhive-hive": "hive-1",
        "toolhive-name": "test-server",
        "toolhive-network-isolation": "true",
        "toolhive-tool-type": "mcp",
        "toolhive-transport": "stdio",
      },
      "OpenStdin": true,
      "StdinOnce": true,
      "Tty": false,
    }
  `);
});

describe('a server that speaks HTTP', () => {
  test('is published on loopback alone, and told to listen where that leads', () => {
    const given = spec(aLaunch(image, { ...http, env: { MCP_HOST: '127.0.0.1' } }));

    expect(given.Env).toEqual(['MCP_HOST=0.0.0.0']);
    expect(given.HostConfig.PortBindings).toEqual({ '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] });
  });

  test('stays on loopback on the network of the host', () => {
    const network = { kind: 'mode', mode: 'host' } as const;

    const given = spec(aLaunch(image, { ...http, network, env: { MCP_HOST: '127.0.0.1' } }));

    expect(given.Env).toEqual(['MCP_HOST=127.0.0.1']);
    expect(given.HostConfig.PortBindings).toBeUndefined();
  });

  test.each([
    { kind: 'none' },
    { kind: 'mode', mode: 'none' },
    { kind: 'mode', mode: 'container:other' },
  ] as const)('is refused where it could not be reached: %o', (network) => {
    const launch = aLaunch(image, { ...http, network });

    expect(() => requireReachable(launch)).toThrow(/cannot be reached with the network mode/);
  });
});

test('drops the hardening for a privileged server, but not its limits', () => {
  const { HostConfig } = spec(aLaunch(image, { privileged: true }));

  expect(HostConfig).toMatchObject({ Privileged: true, PidsLimit: 64 });
  expect(HostConfig).not.toHaveProperty('CapDrop');
  expect(HostConfig).not.toHaveProperty('ReadonlyRootfs');
});

test('tells Podman the two limits that it will not start without', () => {
  const { HostConfig } = spec(aLaunch(image), 'podman');

  expect(HostConfig.Ulimits.map(({ Name }) => Name)).toEqual(['nofile', 'nproc']);
});

const Spec = z.looseObject({
  Env: z.array(z.string()),
  HostConfig: z.looseObject({
    PortBindings: z.unknown().optional(),
    Ulimits: z.array(z.looseObject({ Name: z.string() })),
  }),
});

function spec(launch: Launch, engine: 'docker' | 'podman' = 'docker'): z.infer<typeof Spec> {
  const blueprint = {
    launch,
    image: image.image,
    name: launch.workload,
    hiveId: 'hive-1',
    engine,
    init: true,
  };
  return Spec.parse(containerSpec(blueprint));
}
