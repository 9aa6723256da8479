import { lookup } from 'node:dns';
import { messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { openMetaServer } from '@toolhive/core/meta-server';
import { metaSettings } from '@toolhive/tool-search/settings';
import { requestedOidc } from '@toolhive/access/oidc-config';
import type { StartedServer } from '@toolhive/core/single-workload';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import type { ClusterConfig } from '@toolhive/kubernetes/config';
import type { Logger } from 'pino';
import { version } from '../version.ts';
import { ClusterMembers } from './cluster-members.ts';

export interface MetaServerWorld {
  config: ClusterConfig;
  env: NodeJS.ProcessEnv;
  log: Logger;
  signal: AbortSignal;
}

const firstAnswerMs = 60_000;

/**
 * Starts a meta server for the MCPServers and MCPRemoteProxies of one namespace, which is the namespace of this pod.
 * Waits until the API server has listed them.
 */
export async function startMetaServer(
  runConfig: RunConfig,
  { config, env, log, signal }: MetaServerWorld,
): Promise<StartedServer> {
  await using opened = new AsyncDisposableStack();
  const settings = metaSettings(runConfig.env_vars ?? {}, 'k8s');
  const client = opened.use(new KubernetesClient(config, { userAgent: 'toolhive-meta-mcp' }));
  const namespace = env['POD_NAMESPACE'] || config.namespace;
  const members = new ClusterMembers({
    client,
    namespace,
    groups: settings.groups ?? ['*'],
    verified: requestedOidc(runConfig),
    onError: (error) => log.warn({ namespace, reason: messageOf(error) }, 'the servers cannot be listed'),
  });
  opened.use(members);
  await members.listed(signal);
  const server = opened.use(
    await openMetaServer({
      settings,
      members,
      version,
      lookup,
      embeddingKey: env['EMBEDDING_API_KEY'],
      note: (text) => log.info(text),
      onFault: (error) => log.error({ err: error }, 'fault in the meta server'),
    }),
  );
  const parts = opened.move();
  return {
    id: `${runConfig.built_in} for namespace ${namespace}`,
    server: { stdio: server.stdio },
    startAnother: () => Promise.reject(new Error('all clients share a built-in server')),
    ended: new Promise(() => {}),
    stop: () => parts.disposeAsync(),
    firstAnswerMs,
  };
}
