import * as z from 'zod';

/** The values for the fields of a bundle. */
export const UserConfig = z
  .record(
    z.string().max(100),
    z.union([
      z.string().max(100_000),
      z.number(),
      z.boolean(),
      z.array(z.union([z.string().max(100_000), z.number()])).max(1000),
    ]),
  )
  .meta({
    id: 'UserConfig',
    description:
      'The values for the fields of a bundle, by their key. A path for a directory or file field is mounted, read-only with :ro at the end. Sensitive fields take a secret with the target user_config.KEY instead.',
    examples: [{ notes: '/home/me/notes:ro', limit: 10 }],
  });

export const InspectBundle = z
  .object({
    source: z
      .string()
      .min(1)
      .max(5000)
      .meta({
        description:
          'The bundle as mcpb:///PATH or mcpb://https://HOST/PATH, or the name of a registry entry.',
        examples: ['mcpb:///home/me/server.mcpb'],
      }),
    ca_certificate: z.string().max(1_000_000).optional().meta({
      description: 'An additional certificate authority for the download, as PEM.',
    }),
    registry_group: z.string().max(256).optional().meta({
      description: 'The group of the registry that contains the entry.',
    }),
  })
  .meta({
    id: 'InspectBundle',
    description: 'A bundle to inspect.',
    examples: [{ source: 'mcpb:///home/me/server.mcpb' }],
  });
export type InspectBundle = z.infer<typeof InspectBundle>;

export const ExportedBundle = z
  .object({
    files: z.array(
      z.object({
        path: z.string().meta({ description: 'The path in the bundle.' }),
        text: z.string(),
      }),
    ),
  })
  .meta({ id: 'ExportedBundle', description: 'The files of a bundle, which a zip file contains.' });
export type ExportedBundle = z.infer<typeof ExportedBundle>;

const BundleField = z
  .object({
    key: z.string(),
    type: z.enum(['string', 'number', 'boolean', 'directory', 'file']),
    title: z.string(),
    description: z.string(),
    required: z.boolean(),
    sensitive: z.boolean().meta({ description: 'Whether the value must be a secret.' }),
    multiple: z.boolean().meta({ description: 'Whether several values are possible.' }),
    default: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
    proposal: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({
        description:
          'A path of this machine that the bundle proposes. Nothing is mounted unless the request names it.',
      }),
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .meta({ id: 'BundleField', description: 'A value that a bundle asks for.' });
export type BundleField = z.infer<typeof BundleField>;

export const BundleDescription = z
  .object({
    source: z.string().meta({ description: 'The bundle with the hash of its content.' }),
    name: z.string(),
    title: z.string().optional(),
    version: z.string(),
    description: z.string(),
    server_type: z.enum(['python', 'node', 'binary', 'uv']),
    tools: z.array(z.string()),
    fields: z.array(BundleField),
  })
  .meta({ id: 'BundleDescription', description: 'A bundle, as its author describes it.' });
export type BundleDescription = z.infer<typeof BundleDescription>;
