import * as z from 'zod';
import { Port, VariableName } from './names.ts';
import { PermissionProfile } from './permission-profile.ts';

const RegistryVariable = z.looseObject({
  name: VariableName,
  description: z.string(),
  required: z.boolean().default(false),
  secret: z.boolean().default(false),
  default: z.string().optional(),
});

const transport = z.enum(['stdio', 'sse', 'streamable-http']);

/** A catalogued server that runs on this machine. */
export const RegistryServer = z
  .looseObject({
    name: z.string().optional(),
    description: z.string(),
    image: z.string(),
    package: z
      .object({
        source: z.string().meta({ description: 'A package as npx://, uvx:// or go://.' }),
        args: z
          .array(z.string())
          .optional()
          .meta({ description: 'Arguments that the image would supply itself.' }),
      })
      .optional()
      .meta({ description: 'How to run the same server without a container.' }),
    transport: transport.default('stdio'),
    target_port: Port.optional(),
    status: z.string(),
    tier: z.string(),
    tools: z.array(z.string()),
    args: z.array(z.string()).optional(),
    env_vars: z.array(RegistryVariable).optional(),
    permissions: PermissionProfile.optional(),
    tags: z.array(z.string()).optional(),
    repository_url: z.string().optional(),
  })
  .meta({ id: 'RegistryServer', description: 'A catalogued server that runs on this machine.' });
export type RegistryServer = z.infer<typeof RegistryServer>;

/** A catalogued server that somebody else runs. */
export const RegistryRemoteServer = z
  .looseObject({
    name: z.string().optional(),
    description: z.string(),
    url: z.string(),
    transport: transport.default('sse'),
    status: z.string(),
    tier: z.string(),
    tools: z.array(z.string()),
  })
  .meta({ id: 'RegistryRemoteServer', description: 'A catalogued server that somebody else runs.' });

/** A registry as it is published. Keys that we do not know pass through. */
export const Registry = z
  .looseObject({
    version: z.string(),
    last_updated: z.string(),
    servers: z.record(z.string(), RegistryServer),
    remote_servers: z.record(z.string(), RegistryRemoteServer).default({}),
  })
  .meta({ id: 'Registry', description: 'A list of servers and how to run them.' });
export type Registry = z.infer<typeof Registry>;
