import { stat } from 'node:fs/promises';
import { unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import { connectNamespaces } from '../../egress/connect-namespaces.ts';
import type { EgressTools } from '../../egress/tools.ts';
import { attach } from '../attach.ts';
import { removeContainer } from '../container.ts';
import { type Engine, callEngine } from '../engine.ts';
import { DAEMON_LABEL } from '../ownership.ts';
import { small } from './small.ts';

/** The server's end of a pair of network interfaces, in the network namespace of a process. */
interface WaitingEnd {
  pid: number;
  name: string;
}

/**
 * Moves the server's end of a gateway into the network of another container. For users who may use the engine, but may
 * not enter the network themselves: a short-lived container of the engine can. It runs two programs of this machine
 * with constant arguments, and no server is in the network yet.
 */
export async function moveInterface(
  engine: Engine,
  tools: EgressTools,
  {
    container,
    end: { pid, name },
    daemonId,
    signal,
  }: {
    container: { containerId: string; image: string };
    end: WaitingEnd;
    daemonId: string;
    signal: AbortSignal;
  },
): Promise<void> {
  const { Id: containerId } = await callEngine(engine, z.object({ Id: z.string() }), {
    method: 'POST',
    path: '/containers/create',
    query: { name: `toolhive-connector-${name}` },
    body: {
      json: {
        Image: container.image,
        Entrypoint: [tools.sh],
        Cmd: connectNamespaces(tools, { step: 'fetch', pid, device: name }, []),
        User: '0:0',
        Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId },
        HostConfig: {
          ...small,
          NetworkMode: `container:${container.containerId}`,
          PidMode: 'host',
          CapAdd: ['SYS_ADMIN', 'NET_ADMIN', 'SYS_PTRACE'],
          // The usual profiles do not let a container enter a namespace, whatever its capabilities.
          SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined', 'label=disable'],
          Mounts: await systemMounts(),
        },
      },
    },
    signal,
  });
  try {
    let said = '';
    const log = (piece: Buffer): void => {
      said += piece.toString().slice(0, 2000);
    };
    const silent = { speaksStdio: false, listens: false, log, signal };
    const attachment = await attach(engine, containerId, silent);
    try {
      await callEngine(engine, z.unknown(), {
        method: 'POST',
        path: `/containers/${containerId}/start`,
        signal,
      });
      await attachment.closed;
    } finally {
      attachment.close();
    }
    const code = await exitCodeOf(engine, containerId, signal);
    if (code !== 0) {
      throw unavailable(
        `a container could not connect a network with its gateway: ${said.trim() || `exit code ${code}`}`,
      );
    }
  } finally {
    await removeContainer(engine, containerId);
  }
}

async function exitCodeOf(engine: Engine, containerId: string, signal: AbortSignal): Promise<number> {
  const { StatusCode } = await callEngine(engine, z.object({ StatusCode: z.number() }), {
    method: 'POST',
    path: `/containers/${containerId}/wait`,
    query: { condition: 'not-running' },
    signal,
  });
  return StatusCode;
}

/** Where the programs of this machine and their libraries are, by distribution. */
const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix/store', '/gnu/store'];

async function systemMounts(): Promise<object[]> {
  const found = await Promise.all(
    systemFolders.map((folder) =>
      stat(folder).then(
        (stats) => stats.isDirectory(),
        () => false,
      ),
    ),
  );
  return systemFolders
    .filter((_folder, index) => found[index])
    .map((folder) => ({ Type: 'bind', Source: folder, Target: folder, ReadOnly: true }));
}
