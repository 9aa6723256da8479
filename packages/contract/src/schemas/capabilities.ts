import * as z from 'zod';

const text = z.string().optional();

/** Whether the user has approved the current version of an item. */
const ItemPin = z
  .object({
    state: z.enum(['approved', 'changed', 'new', 'removed']),
    hash: z.string().optional().meta({ description: 'The hash of the version that the server lists.' }),
    approved_hash: z.string().optional().meta({ description: 'The hash of the approved version.' }),
  })
  .meta({
    id: 'ItemPin',
    description: 'Whether the user has approved the version of an item. Absent if nothing is pinned.',
  });

const Annotations = z.record(z.string(), z.unknown()).optional().meta({
  description: 'Annotations from the server, such as `readOnlyHint`. ToolHive does not verify them.',
});
const Schema = z.record(z.string(), z.unknown()).meta({ description: 'A JSON Schema.' });

const ToolApp = z
  .object({
    resource_uri: z
      .string()
      .optional()
      .meta({ description: 'The `ui://` resource with the page of the app.' }),
    is_callable: z.boolean().meta({ description: 'Whether apps of the server may call the tool.' }),
  })
  .meta({ id: 'ToolApp', description: 'The MCP App of a tool, in the words of the server.' });

export const ListedTool = z
  .object({
    name: z.string().meta({ description: 'The name for clients.' }),
    original_name: z.string().meta({ description: 'The original name of the server.' }),
    is_shown: z.boolean().meta({ description: 'False if the tool filter hides it from clients.' }),
    title: text,
    description: text.meta({ description: 'The description for clients.' }),
    original_description: text.meta({
      description: 'The original description of the server, if an override replaces it.',
    }),
    input_schema: Schema.optional(),
    output_schema: Schema.optional(),
    annotations: Annotations,
    estimated_tokens: z.int().meta({
      description: 'The estimated number of tokens that the tool takes in the context of a model.',
    }),
    app: ToolApp.optional(),
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedTool', description: 'A server tool.' });
export type ListedTool = z.infer<typeof ListedTool>;

export const ListedPrompt = z
  .object({
    name: z.string(),
    title: text,
    description: text,
    arguments: z.array(z.looseObject({ name: z.string() })).optional(),
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedPrompt', description: 'A prompt of a server.' });
export type ListedPrompt = z.infer<typeof ListedPrompt>;

export const ListedResource = z
  .object({
    uri: z.string(),
    name: text,
    title: text,
    description: text,
    mime_type: text,
    size: z.number().optional(),
    annotations: Annotations,
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedResource', description: 'A resource of a server.' });
export type ListedResource = z.infer<typeof ListedResource>;

export const ListedTemplate = z
  .object({
    uri_template: z.string(),
    name: text,
    title: text,
    description: text,
    mime_type: text,
    annotations: Annotations,
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedResourceTemplate', description: 'A resource template of a server.' });
export type ListedTemplate = z.infer<typeof ListedTemplate>;

export const ListedSkill = z
  .object({
    uri: z.string().meta({ description: 'The URI of its `SKILL.md`.' }),
    name: text,
    description: text,
    files: z.int().optional().meta({
      description: 'The number of its files. Absent if the server states no digests of them.',
    }),
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedSkill', description: 'A skill of a server (SEP-2640).' });
export type ListedSkill = z.infer<typeof ListedSkill>;

export const Capabilities = z
  .object({
    listed_at: z.string().optional().meta({
      description: 'The time of the last listing. Absent if the server has never returned a listing.',
      format: 'date-time',
    }),
    complete: z.boolean().meta({
      description: 'False if a list is missing or exceeds the limits of ToolHive.',
    }),
    problem: text.meta({ description: 'The reason why ToolHive could not list the items.' }),
    protocol_version: text,
    server: z
      .object({ name: z.string(), version: text, title: text })
      .optional()
      .meta({ description: 'The name and version that the server reports.' }),
    capabilities: z.record(z.string(), z.unknown()).optional().meta({
      description: 'The capabilities that the server declares.',
    }),
    instructions: text,
    instructions_pin: ItemPin.optional(),
    tools: z.array(ListedTool),
    prompts: z.array(ListedPrompt),
    resources: z.array(ListedResource),
    resource_templates: z.array(ListedTemplate),
    skills: z.array(ListedSkill).optional().meta({ description: 'Absent if the server has no skills.' }),
  })
  .meta({
    id: 'Capabilities',
    description:
      'The last listing of a server, including for a stopped server. All texts come from the server.',
    examples: [
      {
        listed_at: '2026-01-31T09:30:00.000Z',
        complete: true,
        protocol_version: '2025-11-25',
        server: { name: 'example', version: '1.0.0' },
        capabilities: { tools: {} },
        tools: [
          {
            name: 'add',
            original_name: 'add',
            is_shown: true,
            description: 'Adds two numbers.',
            input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
            estimated_tokens: 31,
            pin: { state: 'approved', hash: '2c26b46b', approved_hash: '2c26b46b' },
          },
        ],
        prompts: [],
        resources: [],
        resource_templates: [],
      },
    ],
  });
export type Capabilities = z.infer<typeof Capabilities>;
