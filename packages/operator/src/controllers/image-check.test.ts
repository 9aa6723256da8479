import { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { afterEach, expect, test, vi } from 'vitest';
import { Reflector } from '../runtime/reflector.ts';
import { RegistryImages, podImages } from './image-check.ts';

const registry = {
  apiVersion: 'toolhive.stacklok.dev/v1alpha1',
  kind: 'MCPRegistry',
  metadata: { name: 'company', namespace: 'tools' },
};

function stored(image: string, resourceVersion: string, manager = 'toolhive-operator'): KubernetesObject {
  const operation = manager === 'toolhive-operator' ? 'Apply' : 'Update';
  const own = { manager: 'toolhive-operator', operation: 'Apply', fieldsV1: { 'f:data': {} } };
  const other = { manager, operation, fieldsV1: { 'f:data': { 'f:registry.json': {} } } };
  const metadata = { name: 'company-registry-storage', namespace: 'tools', uid: 'a', resourceVersion };
  const data = { 'registry.json': JSON.stringify({ servers: { one: { image } } }) };
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, managedFields: [own, other] },
    data,
  } as never;
}

async function openImages() {
  const client = new KubernetesClient({
    server: 'https://127.0.0.1:1',
    namespace: 'tools',
    tls: {},
    token: async () => undefined,
  });
  const options = {
    client,
    type: types.configMap,
    namespaces: ['tools'],
    isPacked: true,
    keepsRecords: true,
  };
  const cache = new Reflector({ ...options, onChange: () => {}, onError: () => {} });
  return { cache, images: new RegistryImages(() => cache) };
}

afterEach(() => void vi.restoreAllMocks());

test('the content of a registry is read once for each version', async () => {
  const { cache, images } = await openImages();
  cache.observe(stored('example/server:1', '1'));
  const parse = vi.spyOn(JSON, 'parse');

  const found = [1, 2, 3].map(() => images.of(registry));
  const count = parse.mock.calls.length;
  images.of(registry);

  expect(found.map((each) => each?.has('example/server:1'))).toEqual([true, true, true]);
  expect(parse).toHaveBeenCalledTimes(count);
  expect(count).toBeLessThanOrEqual(2); // the object and its content
  cache.observe(stored('example/server:2', '2'));
  expect(images.of(registry)?.has('example/server:2')).toBe(true);
  expect(images.of(registry)?.has('example/server:1')).toBe(false);
});

test('content that another program wrote allows no image', async () => {
  const { cache, images } = await openImages();
  cache.observe(stored('example/evil:1', '1', 'hand'));

  expect(images.of(registry)).toBeUndefined();
});

test('the images of a server pod are those of all its containers and volumes', () => {
  const image = 'example/server:1';
  const podTemplateSpec = {
    spec: {
      containers: [{ name: 'mcp', image: 'a' }, { name: 'sidecar', image: 'b' }, { name: 'other' }],
      initContainers: [{ name: 'init', image: 'c' }],
      volumes: [
        { name: 'files', image: { reference: 'd' } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  };

  expect(podImages({ image })).toEqual([image]);
  expect(podImages({ image, podTemplateSpec })).toEqual([image, 'a', 'b', 'c', 'd']);
  expect(
    podImages({ image, podTemplateSpec: { spec: { containers: [{ name: 'mcp', image: ['a'] }] } } }),
  ).toBeUndefined();
});
