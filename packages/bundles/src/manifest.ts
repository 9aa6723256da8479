import { invalid, ThvError } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { McpbManifestSchema as v0_1 } from '@anthropic-ai/mcpb/schemas/0.1';
import { McpbManifestSchema as v0_2 } from '@anthropic-ai/mcpb/schemas/0.2';
import { McpbManifestSchema as v0_3 } from '@anthropic-ai/mcpb/schemas/0.3';
import { McpbManifestSchema as v0_4 } from '@anthropic-ai/mcpb/schemas/0.4';
import * as z from 'zod';
import { repaired } from './manifest-repair.ts';

export const MANIFEST = 'manifest.json';

/** Larger than any manifest that is not an attack. */
export const MANIFEST_LIMIT = 4 * 1024 ** 2;

/** The official schemas of the format, which the newest version of Zod evaluates. */
interface OfficialSchema {
  safeParse(value: unknown): { success: boolean; error?: { issues: readonly OfficialIssue[] } | undefined };
}

interface OfficialIssue {
  code?: string;
  path: readonly PropertyKey[];
  message: string;
}

const schemas: Record<string, OfficialSchema> = {
  '0.1': v0_1,
  '0.2': v0_2,
  '0.3': v0_3,
  '0.4': v0_4,
};

export const newestManifestVersion = '0.4';

const Command = z.object({
  command: z.string().min(1).max(1000),
  args: z.array(z.string().max(100_000)).max(1000),
  env: z.record(z.string(), z.string().max(100_000)),
});

const Field = z.object({
  type: z.enum(['string', 'number', 'boolean', 'directory', 'file']),
  title: z.string().catch(''),
  description: z.string().catch(''),
  required: z.boolean().default(false),
  default: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
  multiple: z.boolean().default(false),
  sensitive: z.boolean().default(false),
  min: z.number().optional(),
  max: z.number().optional(),
});
export type ManifestField = z.infer<typeof Field>;

/** The parts of a manifest that decide what runs and what the user is asked for. */
const Manifest = z.object({
  name: z.string().min(1).max(500),
  display_name: z.string().max(500).optional().catch(undefined),
  version: z.string().max(200),
  description: z.string().max(100_000).catch(''),
  server: z.object({
    type: z.enum(['python', 'node', 'binary', 'uv']),
    entry_point: z.string().max(1000),
    mcp_config: Command.partial({ args: true, env: true })
      .extend({
        platform_overrides: z.record(z.string(), Command.partial()).default({}),
      })
      .optional(),
  }),
  compatibility: z
    .object({
      platforms: z.array(z.string()).optional(),
      runtimes: z.object({ python: z.string().optional(), node: z.string().optional() }).default({}),
    })
    .default({ runtimes: {} }),
  user_config: z
    .record(z.string().regex(/^[A-Za-z_][\w-]{0,99}$/), Field)
    .refine((fields) => Object.keys(fields).length <= 200, 'more than 200 fields')
    .default({}),
  tools: z.array(z.object({ name: z.string() })).catch([]),
});
export type Manifest = z.infer<typeof Manifest>;
export type ServerType = Manifest['server']['type'];

/** The members of a manifest that decide what runs. Errors in the others concern only its display. */
const decisive: ReadonlySet<unknown> = new Set(['name', 'version', 'server', 'user_config', 'compatibility']);

/**
 * Reads a manifest to run its server. Unknown members and errors in descriptions are fine, because other programs run
 * such bundles. Throws `invalid` with every other error.
 */
export function readManifest(content: Buffer | string, title: string): Manifest {
  const { value: written, schema } = versionOf(content, title);
  const value = repaired(written);
  const serious = seriousIssues(value, schema);
  // Some authors use a later server type and keep the version number.
  if (serious.length > 0 && seriousIssues(value, v0_4).length > 0) throw withIssues(title, serious);
  const read = Manifest.safeParse(value);
  if (read.success) return read.data;
  throw withIssues(title, read.error.issues);
}

function seriousIssues(value: object, schema: OfficialSchema): OfficialIssue[] {
  const issues = schema.safeParse(value).error?.issues ?? [];
  return issues.filter(
    ({ code, path: [first, second, third] }) =>
      code !== 'unrecognized_keys' &&
      decisive.has(first) &&
      !(first === 'server' && second === 'mcp_config') &&
      !(first === 'user_config' && (third === 'title' || third === 'description')),
  );
}

/** Reads a manifest to publish it. Throws `invalid` with everything that the official validation refuses. */
export function readPublishedManifest(content: Buffer | string, title: string): Manifest {
  const { value, schema } = versionOf(content, title);
  const { error } = schema.safeParse(value);
  if (error !== undefined) throw withIssues(title, error.issues);
  return readManifest(content, title);
}

function versionOf(content: Buffer | string, title: string): { value: object; schema: OfficialSchema } {
  let value: unknown;
  try {
    const text =
      typeof content === 'string' ? content : new TextDecoder('utf-8', { fatal: true }).decode(content);
    value = parseJson(text.replace(/^\uFEFF/, ''), title, { maxDepth: 64 });
  } catch (thrown) {
    // Its message may quote the content.
    if (thrown instanceof ThvError) throw thrown;
    throw invalid(`${title} is not JSON in UTF-8`, { hint: 'check the file with a JSON editor' });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${title} is not a JSON object`);
  const { manifest_version, dxt_version } = value as Record<string, unknown>;
  const version = manifest_version ?? dxt_version;
  if (version === undefined || version === null) {
    throw invalid(`${title} has no manifest_version`, {
      hint: `add "manifest_version": "${newestManifestVersion}"`,
    });
  }
  const given = typeof version === 'string' || typeof version === 'number' ? String(version) : '';
  const text = given.replace(/^v/i, '').replace(/^(\d+\.\d+)\.0$/, '$1');
  const schema = Object.hasOwn(schemas, text) ? schemas[text] : undefined;
  if (schema !== undefined) return { value, schema };
  throw invalid(`${title} has the unknown manifest_version ${JSON.stringify(version).slice(0, 50)}`, {
    hint: `the known versions are ${Object.keys(schemas).join(', ')}`,
  });
}

const MOST_ISSUES = 5;

function withIssues(title: string, issues: readonly OfficialIssue[]): ThvError {
  const shown = issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => [path.map(String).join('.'), message].filter(Boolean).join(': '));
  const more = issues.length - shown.length;
  return invalid(`${title} is invalid: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`, {
    hint: 'the format is described at https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md',
  });
}
