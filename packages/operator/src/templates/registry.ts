import { types } from '@toolhive/kubernetes/object';
import type { ObjectMeta, OwnerReference, ResourceType } from '@toolhive/kubernetes/object';
import { managed } from './names.ts';
import { containerSecurity, podSecurity } from './objects.ts';
import type { Child } from './objects.ts';

const PORT = 8080;

function child(
  type: ResourceType,
  owner: OwnerReference,
  { namespace }: ObjectMeta,
  name: string,
  content: object,
  labels: Record<string, string> = {},
): Child {
  return {
    type,
    object: {
      apiVersion: type.apiVersion,
      kind: type.kind,
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        labels: { ...labels, ...managed },
        ownerReferences: [owner],
      },
      ...content,
    },
  };
}

/** The ConfigMap with a registry as JSON. */
export function registryStorage(
  owner: OwnerReference,
  metadata: ObjectMeta,
  registry: string,
  format: string,
): Child {
  const stored = child(
    types.configMap,
    owner,
    metadata,
    `${metadata.name}-registry-storage`,
    { data: { 'registry.json': registry } },
    {
      'toolhive.stacklok.io/component': 'registry-storage',
      'toolhive.stacklok.dev/registry': metadata.name,
    },
  );
  stored.object.metadata.annotations = {
    'toolhive.stacklok.dev/registry-name': metadata.name,
    'toolhive.stacklok.dev/registry-format': format,
  };
  return stored;
}

/** The objects of the registry API. The server reads the mounted file again when the file changes. */
export function registryChildren(
  owner: OwnerReference,
  metadata: ObjectMeta,
  { registryImage: image, imagePullSecrets }: { registryImage: string; imagePullSecrets: readonly string[] },
  isOpenShift: boolean,
): Child[] {
  const name = `${metadata.name}-api`;
  const selector = {
    'app.kubernetes.io/name': 'registry-api',
    'app.kubernetes.io/instance': metadata.name,
    'toolhive.stacklok.io/component': 'registry-api',
  };
  const probe = (path: string) => ({
    httpGet: { path, port: 'http', httpHeaders: [{ name: 'Host', value: 'localhost' }] },
  });
  return [
    child(types.serviceAccount, owner, metadata, name, { automountServiceAccountToken: false }, selector),
    child(
      types.service,
      owner,
      metadata,
      name,
      { spec: { selector, ports: [{ name: 'http', protocol: 'TCP', port: PORT, targetPort: PORT }] } },
      selector,
    ),
    child(
      types.deployment,
      owner,
      metadata,
      name,
      {
        spec: {
          selector: { matchLabels: selector },
          template: {
            metadata: { labels: selector },
            spec: {
              serviceAccountName: name,
              automountServiceAccountToken: false,
              enableServiceLinks: false,
              securityContext: podSecurity(isOpenShift),
              ...(imagePullSecrets.length === 0
                ? {}
                : { imagePullSecrets: imagePullSecrets.map((secret) => ({ name: secret })) }),
              containers: [
                {
                  name: 'registry-api',
                  image,
                  args: [
                    'serve',
                    '--from-file=/data/registry/registry.json',
                    `--registry-name=${metadata.name}`,
                  ],
                  ports: [{ name: 'http', containerPort: PORT, protocol: 'TCP' }],
                  livenessProbe: { ...probe('/health'), initialDelaySeconds: 30, periodSeconds: 10 },
                  readinessProbe: { ...probe('/readiness'), initialDelaySeconds: 5, periodSeconds: 5 },
                  resources: {
                    requests: { cpu: '100m', memory: '128Mi' },
                    limits: { cpu: '500m', memory: '512Mi' },
                  },
                  securityContext: containerSecurity,
                  volumeMounts: [
                    { name: 'registry', mountPath: '/data/registry', readOnly: true },
                    { name: 'tmp', mountPath: '/tmp' },
                  ],
                },
              ],
              volumes: [
                { name: 'registry', configMap: { name: `${metadata.name}-registry-storage` } },
                { name: 'tmp', emptyDir: {} },
              ],
            },
          },
        },
      },
      selector,
    ),
  ];
}
