import type { Caller } from './caller.ts';
import { prompts } from './prompts.ts';
import { resourceList, resourceTemplates } from './resources.ts';

/** Answers to a request by its method, as far as they are the same in every revision. */
export const answers: Record<string, (params: Record<string, unknown>, caller: Caller) => unknown> = {
  'prompts/list': () => ({ prompts: promptList }),
  'prompts/get': ({ name, arguments: given = {} }, caller) =>
    getPrompt(String(name), given as Record<string, string>, caller),
  'resources/list': () => ({ resources: resourceList }),
  'resources/templates/list': () => ({ resourceTemplates }),
  'completion/complete': () => ({ completion: { values: [], total: 0, hasMore: false } }),
};

const promptList = Object.entries(prompts).map(([name, { description, arguments: wanted }]) => ({
  name,
  description,
  arguments: Object.entries(wanted).map(([argument, what]) => ({
    name: argument,
    description: what,
    required: true,
  })),
}));

async function getPrompt(name: string, given: Record<string, string>, caller: Caller) {
  const prompt = prompts[name];
  if (prompt === undefined) throw new Error(`no prompt ${name}`);
  const content = await prompt.get(given, caller);
  return { messages: content.map((part) => ({ role: 'user' as const, content: part })) };
}

/** The identity and the capabilities of the servers. */
export const identity = { name: 'toolhive-conformance', version: '1.0.0' };
export const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};
