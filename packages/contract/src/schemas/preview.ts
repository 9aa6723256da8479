import * as z from 'zod';
import { Permissions } from './network.ts';
import { Risk } from './risk.ts';
import { CreateWorkload } from './workload.ts';

/** Something that a request needs and does not contain. */
const Need = z
  .object({
    name: z.string().meta({ description: 'The environment variable or header.' }),
    description: z.string().optional(),
    secret: z.boolean().meta({ description: 'Whether its value should be stored as a secret.' }),
  })
  .meta({ id: 'MissingValue', description: 'A value that a server needs and the request does not contain.' });

export const WorkloadCheck = z
  .object({
    name: z.string().meta({ description: 'The name that the workload would get.' }),
    package: z.string().meta({ description: 'The image or package, or the URL of the remote server.' }),
    remote: z.boolean(),
    runtime: z.string().optional().meta({ description: 'Absent for remote servers.' }),
    permissions: Permissions.optional().meta({
      description: 'What the server could access. Absent for remote servers.',
    }),
    risks: z
      .array(z.object({ risk: Risk, text: z.string() }))
      .meta({ description: 'The dangerous access that the user would have to accept.' }),
  })
  .meta({ id: 'WorkloadCheck', description: 'What would become of a request for a workload.' });
export type WorkloadCheck = z.infer<typeof WorkloadCheck>;

export const ImportDocument = z
  .object({
    document: z
      .string()
      .min(1)
      .max(500_000)
      .meta({ description: 'The configuration of an MCP client, as JSON, YAML, or TOML text.' }),
  })
  .meta({
    id: 'ImportDocument',
    description: 'A configuration of an MCP client to import.',
    examples: [{ document: '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}' }],
  });

const ImportedServer = z
  .object({
    name: z.string().meta({ description: 'The name in the document.' }),
    request: CreateWorkload.optional().meta({
      description: 'The request that runs the server as a workload. Absent if there is a problem.',
    }),
    notes: z.array(z.string()).meta({ description: 'What differs from how the client runs the server.' }),
    needs: z.array(Need),
    problem: z.string().optional().meta({ description: 'Why the server cannot be imported.' }),
    hint: z.string().optional(),
  })
  .meta({ id: 'ImportedServer' });

export const ImportPreview = z
  .object({ servers: z.array(ImportedServer) })
  .meta({ id: 'ImportPreview', description: 'The servers of a document, as workloads.' });
export type ImportPreview = z.infer<typeof ImportPreview>;

export const ClientPreview = z
  .object({
    path: z.string().meta({ description: 'The configuration file.' }),
    exists: z.boolean(),
    changes: z.array(
      z.object({
        workload: z.string(),
        action: z.enum(['add', 'change', 'remove']),
      }),
    ),
    diff: z.string().meta({
      description:
        'The changed entries as a unified diff. Entries that ToolHive did not write are not part of it. Empty if nothing changes.',
    }),
    problem: z.string().optional().meta({ description: 'Why the file could not be written as it is now.' }),
  })
  .meta({ id: 'ClientPreview', description: 'How a configuration file would change.' });
export type ClientPreview = z.infer<typeof ClientPreview>;
