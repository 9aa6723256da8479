import { ProxyMode, Transport } from '@toolhive/contract/workload';
import * as z from 'zod';
import { laterServerFields } from './later-fields.ts';
import { OidcConfig, proxySpec, proxyStatus } from './proxy.ts';
import { block, lastColumns, resource, shortName, storageAddress } from './resource.ts';
import { Conditions, Generation, PortNumber, Replicas, Variable, off, say } from './values.ts';

const Secret = z.object({
  name: say(z.string(), 'The name of the Secret.'),
  key: say(z.string(), 'The key in the Secret.'),
  targetEnvName: say(
    z.string(),
    'The environment variable that receives the value. The default is the key.',
  ).optional(),
});

const Volume = z.object({
  name: say(z.string(), 'The name of the volume.'),
  hostPath: say(z.string(), 'The path on the node.'),
  mountPath: say(z.string(), 'The path in the server container.'),
  readOnly: say(off, 'Whether the mount is read-only.'),
});

const PermissionProfile = z.object({
  type: say(
    z.enum(['builtin', 'configmap']).default('builtin'),
    'The profile type: built-in, or in a ConfigMap.',
  ),
  name: say(z.string(), 'The name of the built-in profile (`none` or `network`), or of the ConfigMap.'),
  key: say(z.string(), 'The key in the ConfigMap.').optional(),
});

const spec = z.object({
  image: say(z.string(), "The server's container image."),
  transport: say(
    z.enum(Transport.exclude(['inspector']).options).default('stdio'),
    'The transport of the server.',
  ),
  proxyMode: say(
    z.enum(ProxyMode.options).default('sse'),
    'The endpoint in the URL of a stdio server. The proxy serves both endpoints.',
  ),
  targetPort: say(
    PortNumber,
    'The port that the server listens on. Required unless the transport is stdio.',
  ).optional(),
  backendReplicas: say(
    Replicas,
    'The number of server pods. If absent, the number stays as it is, so that an autoscaler can set it. A stdio server has one pod.',
  ).optional(),
  args: say(z.array(z.string()), 'Arguments for the server.').optional(),
  env: say(z.array(Variable), 'Environment variables for the server.').optional(),
  secrets: say(
    z.array(Secret),
    'Secrets for the server, from Kubernetes Secrets in this namespace.',
  ).optional(),
  volumes: say(z.array(Volume), 'Directories of the node to mount.').optional(),
  permissionProfile: say(PermissionProfile, "The server's permissions.").optional(),
  tools: say(
    z.array(z.string()),
    'The tools that clients can use. If absent, all tools. An MCPToolConfig has precedence.',
  ).optional(),
  groupRef: say(z.string(), "The server's MCPGroup in this namespace.").optional(),
  oidcConfig: OidcConfig.optional(),
  serviceAccount: say(
    z.string(),
    "The server's service account. If absent, the operator creates one.",
  ).optional(),
  podTemplateSpec: say(
    z.looseObject({}).meta({ 'x-kubernetes-preserve-unknown-fields': true }),
    'Additions to the pod template of the server. The name of the server container is `mcp`.',
  ).optional(),
  ...proxySpec,
});

/** A server in the cluster, with a proxy in front. */
export const mcpServer = resource({
  kind: 'MCPServer',
  singular: 'mcpserver',
  plural: 'mcpservers',
  shortNames: ['mcps'],
  summary: 'An MCP server in the cluster, with a proxy.',
  spec,
  rules: [
    shortName,
    {
      rule: "self.spec.transport == 'stdio' || has(self.spec.targetPort)",
      message: 'spec.targetPort is required unless spec.transport is stdio',
    },
    block('self.spec.permissionProfile', 'configmap', 'key'),
    storageAddress,
    block('self.spec.authzConfig', 'inline'),
    block('self.spec.authzConfig', 'configMap'),
    block('self.spec.oidcConfig', 'inline'),
    block('self.spec.oidcConfig', 'configMap'),
  ],
  laterFields: laterServerFields,
  status: z.object({
    phase: say(z.enum(['Pending', 'Running', 'Failed', 'Terminating']), 'The current phase.').optional(),
    conditions: say(Conditions, 'The latest observations.').optional(),
    observedGeneration: say(Generation, 'The latest generation that the operator has processed.').optional(),
    ...proxyStatus,
  }),
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    ...lastColumns,
  ],
  example: {
    name: 'weather',
    spec: {
      image: 'ghcr.io/example/weather-mcp:1.2.0',
      transport: 'streamable-http',
      targetPort: 8080,
      permissionProfile: { type: 'builtin', name: 'network' },
      secrets: [{ name: 'weather', key: 'api-key', targetEnvName: 'WEATHER_KEY' }],
      resources: { limits: { cpu: '500m', memory: '256Mi' } },
    },
  },
});
