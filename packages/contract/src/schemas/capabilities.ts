import * as z from 'zod';

const text = z.string().optional();

/** Whether an item is what the user has approved. */
const ItemPin = z
  .object({
    state: z.enum(['approved', 'changed', 'new', 'removed']),
    hash: z.string().optional().meta({ description: 'The hash of the version that the server lists.' }),
    approved_hash: z.string().optional().meta({ description: 'The version that was approved last.' }),
  })
  .meta({
    id: 'ItemPin',
    description: 'Whether the user has approved the version of an item. Absent if nothing is pinned.',
  });

const Annotations = z.record(z.string(), z.unknown()).optional().meta({
  description: 'What the server says about the item, such as `readOnlyHint`. Nothing verifies it.',
});
const Schema = z.record(z.string(), z.unknown()).meta({ description: 'A JSON Schema.' });

export const ListedTool = z
  .object({
    name: z.string().meta({ description: 'The name that clients see.' }),
    original_name: z.string().meta({ description: 'The name that the server gives it.' }),
    is_shown: z.boolean().meta({ description: 'False if the tool filter hides it from clients.' }),
    title: text,
    description: text.meta({ description: 'The description that clients see.' }),
    original_description: text.meta({ description: 'That of the server, if an override replaces it.' }),
    input_schema: Schema.optional(),
    output_schema: Schema.optional(),
    annotations: Annotations,
    estimated_tokens: z.int().meta({
      description: 'The estimated number of tokens that the tool takes in the context of a model.',
    }),
    pin: ItemPin.optional(),
  })
  .meta({ id: 'ListedTool', description: 'A tool of a server.' });
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

export const Capabilities = z
  .object({
    listed_at: z.string().optional().meta({
      description: 'When the server last answered with a list. Absent if it never did.',
      format: 'date-time',
    }),
    complete: z.boolean().meta({
      description: 'False if some lists are missing, or longer than what ToolHive keeps.',
    }),
    problem: text.meta({ description: 'Why ToolHive could not list what the server offers.' }),
    protocol_version: text,
    server: z
      .object({ name: z.string(), version: text, title: text })
      .optional()
      .meta({ description: 'How the server introduces itself.' }),
    capabilities: z.record(z.string(), z.unknown()).optional().meta({
      description: 'The capabilities that the server declares.',
    }),
    instructions: text,
    instructions_pin: ItemPin.optional(),
    tools: z.array(ListedTool),
    prompts: z.array(ListedPrompt),
    resources: z.array(ListedResource),
    resource_templates: z.array(ListedTemplate),
  })
  .meta({
    id: 'Capabilities',
    description:
      'What a server offered when it was last asked, also if it is stopped. All texts come from the server.',
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
