import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { expect } from 'vitest';

const mcpServer: ResourceType = {
  apiVersion: 'toolhive.stacklok.dev/v1alpha1',
  kind: 'MCPServer',
  plural: 'mcpservers',
};

interface Server extends KubernetesObject {
  spec: { image: string; transport: string };
  status?: { observedGeneration?: number; phase?: string };
}
interface StatefulSet extends KubernetesObject {
  spec: { template: { spec: { containers: { image: string }[] } } };
}

/** MCPServers with images that tests change. */
export interface SampleServers {
  write: (name: string, image: string) => Promise<void>;
  /** The image of the child and the phase of the server, or `unseen` before the operator has seen the current generation. */
  state: (name: string) => Promise<string>;
  /** Resolves when the child has the image and runs. */
  follows: (name: string, image: string) => Promise<void>;
}

/** Works with MCPServers in one namespace, past every proxy. */
export function sampleServers({ client }: ControlPlane, namespace: string): SampleServers {
  const state = async (name: string): Promise<string> => {
    const { metadata, status } = await client.get<Server>(mcpServer, { name, namespace });
    const child = await client
      .get<StatefulSet>(types.statefulSet, { name, namespace })
      .catch(() => undefined);
    const isSeen = status?.observedGeneration === metadata.generation;
    return `${child?.spec.template.spec.containers[0]?.image} ${isSeen ? status?.phase : 'unseen'}`;
  };
  return {
    state,
    async write(name, image) {
      const { apiVersion, kind } = mcpServer;
      const server = { apiVersion, kind, metadata: { name, namespace }, spec: { image, transport: 'stdio' } };
      await client.apply<Server>(mcpServer, server, { fieldManager: 'test' });
    },
    async follows(name, image) {
      await expect
        .poll(() => state(name).catch(String), { timeout: 90_000, message: name })
        .toBe(`${image} Running`);
    },
  };
}
