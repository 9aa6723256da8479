import { readObject } from '@toolhive/contract/json-text';
import { GroupName, WorkloadName } from '@toolhive/contract/names';
import * as z from 'zod';

/** A search uses the beginning of a longer text, instead of refusing the text. */
const text = z.string().trim().max(100_000);

/** The longest name with which a tool can be called. */
export const maxToolName = 300;

/** Words as one text or as a list. */
const words = z.union([text, z.array(z.string().max(200)).max(50)]).optional();

const serverName = WorkloadName.optional().meta({ description: 'The server, by its name.' });
const group = GroupName.optional().meta({ description: 'The group of the server.' });

/** `tool_description` and `tool_keywords` are the names in the original. */
export const FindTool = z
  .object({
    query: text.optional().meta({ description: 'The step, such as "create a branch".' }),
    keywords: words.meta({ description: 'Further words, such as the service or the file type.' }),
    server: serverName,
    group,
    limit: z.int().min(1).max(50).optional(),
    tool_description: text.optional().meta({ description: 'The same as query.' }),
    tool_keywords: words.meta({ description: 'The same as keywords.' }),
  })
  .refine(
    ({ query, keywords, tool_description: described, tool_keywords: more }) =>
      [query, keywords, described, more].some((part) => part !== undefined && part.length > 0),
    'query is required',
  );

export const CallTool = z.object({
  server_name: serverName,
  tool_name: z.string().min(1).max(maxToolName).meta({ description: 'The tool, as find_tool names it.' }),
  parameters: z
    .preprocess(readObject, z.record(z.string(), z.unknown(), 'expected an object'))
    .optional()
    .meta({ description: 'The tool arguments.' }),
});

export const ListTools = z.object({ server: serverName, group });

export const SearchRegistry = z.object({
  query: z.string().trim().max(2_000).meta({ description: 'Words of a name or a description.' }),
});

export const InstallServer = z.object({
  name: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\w.@/-]+$/)
    .meta({ description: 'A name that search_registry has returned.' }),
});

export const ReadResult = z.object({
  handle: z.uuid(),
  offset: z.int().min(0).default(0).meta({ description: 'Where to begin, in characters.' }),
});
