import { invalidField } from '@toolhive/contract/failure';
import { publishedPortOf } from '@toolhive/contract/names';
import { sessionsOf } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import { grantedNetworkOf } from '../permissions/network.ts';
import { isLocal } from '../run-config/kinds.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';

const field = '/publish';

/** Throws `invalid` for ports that a server cannot publish, or that belong to another workload. */
export function checkPublishedPorts(
  { workloads }: Pick<WorkloadsWing, 'workloads'>,
  runConfig: RunConfig,
): void {
  const { publish, port: proxyPort, target_port: own, transport } = runConfig;
  if (!publish?.length) return;
  requireOneSandbox(runConfig);
  const seen = new Set([proxyPort]);
  for (const { port, serverPort } of publish.map(publishedPortOf)) {
    if (transport !== 'stdio' && serverPort === own) {
      throw invalidField(field, `clients reach server port ${own} through the proxy`, {
        hint: 'omit it. For another proxy port, use proxy_port (--proxy-port)',
      });
    }
    const owner = workloads
      .all()
      .map((supervisor) => supervisor.runConfig)
      .find((other) => other.name !== runConfig.name && hasPort(other, port));
    if (owner !== undefined || seen.has(port)) {
      throw invalidField(field, `local port ${port} belongs to ${owner?.name ?? 'this workload already'}`, {
        hint: 'publish it at another port: PORT:SERVER_PORT',
      });
    }
    seen.add(port);
  }
}

function hasPort({ port: own, publish }: RunConfig, port: number): boolean {
  return own === port || publish?.some((text) => publishedPortOf(text).port === port) === true;
}

/** Two processes cannot have the same port, and only an isolated network needs a way in. */
function requireOneSandbox(runConfig: RunConfig): void {
  if (!isLocal(runConfig)) {
    throw invalidField(field, 'only a server that runs in isolation on this machine can publish ports', {
      hint: 'omit publish (--publish)',
    });
  }
  const grant = grantedNetworkOf(runConfig);
  if (grant.kind === 'mode' && grant.mode === 'host') {
    throw invalidField(field, 'a server with the network mode host has all ports of this machine', {
      hint: 'omit publish (--publish), or the network mode',
    });
  }
  if (runConfig.transport === 'stdio' && sessionsOf(runConfig) !== 'shared') {
    throw invalidField(field, 'only one process can have a port, but each session has its own', {
      hint: 'use shared sessions (--sessions shared), or omit publish (--publish)',
    });
  }
}
