import * as z from 'zod';
import { maxImportText } from '../import-text.ts';
import { Permissions } from './network.ts';
import { Risk } from './risk.ts';
import { CreateWorkload } from './workload.ts';

/** A required value that is missing from a request. */
const Need = z
  .object({
    kind: z.enum(['variable', 'header', 'placeholder']).meta({
      description:
        'An environment variable, a header, or a placeholder in the texts of the request, such as an argument or the URL.',
    }),
    name: z.string().meta({ description: 'The environment variable, header, or placeholder.' }),
    token: z
      .string()
      .optional()
      .meta({
        description: 'The text that the value of a placeholder replaces in the request.',
        examples: ['${input:organization}'],
      }),
    description: z.string().optional(),
    secret: z.boolean().meta({ description: 'Whether its value should be stored as a secret.' }),
  })
  .meta({ id: 'MissingValue', description: 'A required value that is missing from a request.' });

export const WorkloadCheck = z
  .object({
    name: z.string().meta({ description: 'The name of the workload.' }),
    package: z.string().meta({ description: 'The image or package, or the URL of the remote server.' }),
    remote: z.boolean(),
    runtime: z.string().optional().meta({ description: 'Absent for remote servers.' }),
    permissions: Permissions.optional().meta({
      description: 'The server permissions. Absent for remote servers.',
    }),
    notes: z
      .array(z.string())
      .optional()
      .meta({ description: 'The settings that a registry entry adds to a package that the request names.' }),
    risks: z
      .array(z.object({ risk: Risk, text: z.string() }))
      .meta({ description: 'The dangerous access that requires consent.' }),
  })
  .meta({ id: 'WorkloadCheck', description: 'The workload that a request would create.' });
export type WorkloadCheck = z.infer<typeof WorkloadCheck>;

export const ImportDocument = z
  .object({
    document: z.string().min(1).max(maxImportText).meta({
      description:
        'The configuration of an MCP client, as JSON, YAML, or TOML text, an installation link, or commands and URLs, one in each line.',
    }),
  })
  .meta({
    id: 'ImportDocument',
    description: 'A client configuration, or commands, to import.',
    examples: [{ document: '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}' }],
  });

const ImportedServer = z
  .object({
    name: z
      .string()
      .meta({ description: 'The name in the document. For a command, a name for what it runs.' }),
    request: CreateWorkload.optional().meta({
      description: 'The request that runs the server as a workload. Absent if there is a problem.',
    }),
    notes: z.array(z.string()).meta({ description: 'The differences from the document.' }),
    needs: z.array(Need),
    problem: z.string().optional().meta({ description: 'The reason why the server cannot be imported.' }),
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
        'The changed entries as a unified diff, without entries that ToolHive did not write. Empty without changes.',
    }),
    problem: z.string().optional().meta({ description: 'The reason why ToolHive could not write the file.' }),
  })
  .meta({ id: 'ClientPreview', description: 'The change of a configuration file.' });
export type ClientPreview = z.infer<typeof ClientPreview>;
