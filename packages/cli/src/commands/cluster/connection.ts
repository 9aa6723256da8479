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
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { ApiStatus, isConflict, isForbidden, isNotFound, isRefused } from '@toolhive/kubernetes/status';
import type { CommandCall } from '../../command.ts';

/** The custom resource that `thv run` creates. */
export const serverKind = {
  apiVersion: 'toolhive.stacklok.dev/v1alpha1',
  kind: 'MCPServer',
  plural: 'mcpservers',
} as const;

/** The kinds of custom resources that have a proxy. */
export const owners = [
  serverKind,
  { ...serverKind, kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies' },
] as const;

/** An MCPServer, as far as the command reads one. */
export interface ServerObject extends KubernetesObject {
  spec: Record<string, unknown>;
  status?: {
    phase?: string;
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
