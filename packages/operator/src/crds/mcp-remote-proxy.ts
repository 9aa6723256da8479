import { Transport } from '@toolhive/contract/workload';
import * as z from 'zod';
import { laterRemoteFields } from './later-fields.ts';
import { OidcConfig, proxySpec, proxyStatus } from './proxy.ts';
import { block, lastColumns, resource, shortName, storageAddress } from './resource.ts';
import { Conditions, Generation, say } from './values.ts';

/** A proxy in front of a remote server. */
export const mcpRemoteProxy = resource({
  kind: 'MCPRemoteProxy',
  singular: 'mcpremoteproxy',
  plural: 'mcpremoteproxies',
  shortNames: ['mcprp'],
  summary: 'A proxy in the cluster for a remote MCP server.',
  spec: z.object({
    remoteURL: say(z.string().regex(/^https?:\/\//), 'The URL of the remote server.'),
    transport: say(
      z.enum(Transport.extract(['sse', 'streamable-http']).options).default('streamable-http'),
      'The transport of the remote server.',
    ),
    groupRef: say(z.string(), "The proxy's MCPGroup in this namespace.").optional(),
    oidcConfig: OidcConfig.optional(),
    ...proxySpec,
  }),
  rules: [
    shortName,
    storageAddress,
    block('self.spec.authzConfig', 'inline'),
    block('self.spec.authzConfig', 'configMap'),
    block('self.spec.oidcConfig', 'inline'),
    block('self.spec.oidcConfig', 'configMap'),
  ],
  laterFields: laterRemoteFields,
  status: z.object({
    phase: say(z.enum(['Pending', 'Ready', 'Failed', 'Terminating']), 'The current phase.').optional(),
    conditions: say(Conditions, 'The latest observations.').optional(),
    externalURL: say(z.string(), 'The proxy URL for clients outside the cluster.').optional(),
    observedGeneration: say(Generation, 'The latest generation that the operator has processed.').optional(),
    ...proxyStatus,
  }),
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Remote URL', type: 'string', jsonPath: '.spec.remoteURL' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    ...lastColumns,
  ],
  example: {
    name: 'weather-remote',
    spec: {
      remoteURL: 'https://mcp.weather.example/mcp',
      oidcConfig: {
        type: 'inline',
        inline: { issuer: 'https://id.example.com', audience: 'weather' },
      },
    },
  },
});
