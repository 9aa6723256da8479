import { ProxyMode, Transport } from '@toolhive/contract/workload';
import * as z from 'zod';
import { OidcConfig, proxySpec, proxyStatus } from './proxy.ts';
import { age, resource } from './resource.ts';
import { Conditions, PortNumber, Variable, off, say } from './values.ts';

const Secret = z.object({
  name: say(z.string(), 'The name of the Secret.'),
  key: say(z.string(), 'The key in it.'),
  targetEnvName: say(z.string(), 'The variable that receives it; the key when absent.').optional(),
});

const Volume = z.object({
  name: say(z.string(), 'What the volume is called.'),
  hostPath: say(z.string(), 'Where it is on the node.'),
  mountPath: say(z.string(), 'Where the server finds it.'),
  readOnly: say(off, 'The server may only read it.'),
});

const PermissionProfile = z.object({
  type: say(
    z.enum(['builtin', 'configmap']).default('builtin'),
    'Whether the name is that of a profile of the product, or of a ConfigMap.',
  ),
  name: say(z.string(), 'Its name: `none` or `network`, or that of the ConfigMap.'),
  key: say(z.string(), 'The key in the ConfigMap.').optional(),
});

const spec = z.object({
  image: say(z.string(), 'The container image of the server.'),
  transport: say(z.enum(Transport.exclude(['inspector']).options).default('stdio'), 'How the server talks.'),
  proxyMode: say(
    z.enum(ProxyMode.options).default('sse'),
    'Which endpoint of a stdio server its URL names; both are there.',
  ),
  targetPort: say(
    PortNumber,
    'The port that the server listens on. Asked for unless it talks over stdio.',
  ).optional(),
  args: say(z.array(z.string()), 'Arguments for the server.').optional(),
  env: say(z.array(Variable), 'Environment variables of the server.').optional(),
  secrets: say(
    z.array(Secret),
    'Values for the server that are kept in Secrets of this namespace.',
  ).optional(),
  volumes: say(z.array(Volume), 'Folders of the node to share with the server.').optional(),
  permissionProfile: say(PermissionProfile, 'What the server may touch.').optional(),
  tools: say(
    z.array(z.string()),
    'The tools that clients may see; all of them when absent. What an MCPToolConfig says counts more.',
  ).optional(),
  groupRef: say(z.string(), 'The MCPGroup of this namespace that it belongs to.').optional(),
  oidcConfig: OidcConfig.optional(),
  serviceAccount: say(z.string(), 'The service account of the server; one is made when absent.').optional(),
  podTemplateSpec: say(
    z.looseObject({}).meta({ 'x-kubernetes-preserve-unknown-fields': true }),
    'A pod template to build on. The container of the server in it is called `mcp`.',
  ).optional(),
  ...proxySpec,
});

/** A server in the cluster, with a proxy in front. */
export const mcpServer = resource({
  kind: 'MCPServer',
  singular: 'mcpserver',
  plural: 'mcpservers',
  summary: 'An MCP server that runs in the cluster, with a proxy in front.',
  spec,
  status: z.object({
    phase: say(z.enum(['Pending', 'Running', 'Failed', 'Terminating']), 'What it is doing.').optional(),
    conditions: say(Conditions, 'What holds of it.').optional(),
    ...proxyStatus,
  }),
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    age,
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
