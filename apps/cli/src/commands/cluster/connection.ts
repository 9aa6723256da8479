import {
  ThvError,
  conflict,
  forbidden,
  invalid,
  messageOf,
  notFound,
  unavailable,
} from '@toolhive/contract/failure';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus, isConflict, isForbidden, isNotFound, isRefused } from '@toolhive/kubernetes/status';
import type { CommandCall } from '../../command.ts';

/** The kinds with a proxy that clients connect to, by the labels of their pods. */
export const serverKinds = [
  { apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind: 'MCPServer', plural: 'mcpservers', app: 'mcpserver' },
  {
    apiVersion: 'toolhive.stacklok.dev/v1alpha1',
    kind: 'MCPRemoteProxy',
    plural: 'mcpremoteproxies',
    app: 'mcpremoteproxy',
  },
] as const;

/** An MCPServer or MCPRemoteProxy, as far as the commands read one. */
export interface ServerObject extends KubernetesObject {
  spec: {
    image?: string;
    remoteURL?: string;
    transport?: string;
    proxyMode?: string;
    port?: number;
    groupRef?: string;
    tools?: string[];
    [field: string]: unknown;
  };
  status?: {
    phase?: string;
    url?: string;
    message?: string;
    conditions?: { type: string; status: string }[];
  };
}

/** Opens the cluster that the flags name, runs the work, and translates the errors of the API server. */
export async function inCluster<T>(
  { flags, signal }: CommandCall,
  work: (client: KubernetesClient, namespace: string) => Promise<T>,
): Promise<T> {
  try {
    const config = await loadKubeconfig({
      path: flags.text('kubeconfig'),
      context: flags.text('kube-context'),
    });
    const namespace = flags.text('namespace') ?? config.namespace;
    await using client = new KubernetesClient({ ...config, namespace });
    return await work(client, namespace);
  } catch (error) {
    if (error instanceof ThvError || signal.aborted) throw error;
    throw explained(error);
  }
}

function explained(error: unknown): ThvError {
  const text = messageOf(error);
  if (isForbidden(error)) return forbidden(`the cluster refused the request: ${text}`, { cause: error });
  if (isConflict(error)) return conflict(text, { cause: error });
  if (isRefused(error)) return invalid(`the cluster refused the request: ${text}`, { cause: error });
  if (isNotFound(error)) return notFound(text, { cause: error });
  if (error instanceof ApiStatus) return unavailable(`the cluster failed: ${text}`, { cause: error });
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? invalid(text, { cause: error }) // the kubeconfig file
    : unavailable(`cannot reach the cluster: ${text}`, { cause: error });
}

/** Lists the objects of a kind. Throws `not-found` if the cluster does not know the kind. */
export async function listServers(
  client: KubernetesClient,
  type: ResourceType,
  namespace: string,
  signal: AbortSignal,
): Promise<ServerObject[]> {
  try {
    return (await client.list<ServerObject>(type, { namespace, signal })).items;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw notFound(`the cluster has no custom resource ${type.kind}`, {
      hint: 'install the custom resource definitions of the ToolHive operator',
      cause: error,
    });
  }
}

/** Finds a server of either kind. */
export async function findServer(
  client: KubernetesClient,
  name: string,
  namespace: string,
  signal: AbortSignal,
): Promise<{ kind: (typeof serverKinds)[number]; server: ServerObject }> {
  for (const kind of serverKinds) {
    const server = (await listServers(client, kind, namespace, signal)).find(
      ({ metadata }) => metadata.name === name,
    );
    if (server !== undefined) return { kind, server };
  }
  throw notFound(`server ${name} not found in namespace ${namespace}`, {
    hint: 'run thv list with the same --kube-context and --namespace to see all servers',
  });
}
