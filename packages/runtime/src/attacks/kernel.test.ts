// @suite system
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { openDockerRuntime } from '../docker/docker.ts';
import { never, openRig } from '../process/test-rig.ts';
import type { Runtime } from '../runtime.ts';
import type { ServerSource } from '../source.ts';
import { aLaunch } from '../testing/conformance.ts';
import { TEST_IMAGE, buildFromScratch, programFiles } from '../testing/docker-engine.ts';
import { engineSocket } from '../testing/engines.ts';
import { Conversation } from '../testing/talk.ts';
import { proves } from '@toolhive/testing/promises';

// What a server asks of the kernel that it has no business with, in Perl, which is a part of every Debian.

const PERL_IMAGE = 'toolhive-test-perl:1';

/** Sockets by their numbers: to the hypervisor, for raw packets, and an ordinary one. */
const families = { vsock: 40, packet: 17, internet: 2 };

async function openSockets(runtime: Runtime, source: ServerSource) {
  await using instance = await runtime.start(aLaunch(source), never);
  if (instance.stdio === undefined) throw new Error('the instance speaks no stdio');
  const server = new Conversation(instance.stdio);
  const tries = Object.entries(families).map(async ([name, family]) => {
    const program = `print(socket(S, ${family}, 1, 0) ? "opened" : "refused")`;
    const { text } = await server.call('execute', { command: 'perl', args: ['-e', program] });
    return [name, (JSON.parse(text) as { output: string }).output];
  });
  return Object.fromEntries(await Promise.all(tries)) as Record<string, string>;
}

test('a server in the sandbox opens no socket to the hypervisor', async () => {
  proves('security.sandbox.sockets');
  await using rig = await openRig();

  expect(await openSockets(rig.runtime, await rig.prepared())).toEqual({
    vsock: 'refused',
    packet: 'refused',
    internet: 'opened',
  });
});

const socket = await engineSocket('docker');

describe.runIf(socket !== '')('in a container', () => {
  test('a server opens no socket to the hypervisor', async () => {
    const files = await programFiles({ perl: '/usr/bin/perl' });
    await buildFromScratch(socket, PERL_IMAGE, `FROM ${TEST_IMAGE}\nCOPY files/ /\n`, files);
    const runtime = openDockerRuntime({
      daemonId: 'attack-kernel',
      env: {},
      tempDir: tmpdir(),
      recordsDir: tmpdir(),
      socket,
    });

    const opened = await openSockets(runtime, { kind: 'image', image: PERL_IMAGE });

    expect(opened).toEqual({ vsock: 'refused', packet: 'refused', internet: 'opened' });
  });
});
