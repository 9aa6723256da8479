/** The things that servers list, by kind. */
export const kinds = {
  tools: { method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
  resources: { method: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
  skills: {
    method: 'skills/list',
    member: 'skills',
    key: 'uri',
    capability: 'io.modelcontextprotocol/skills',
  },
} as const;

export type Kind = keyof typeof kinds;

export const allKinds = Object.keys(kinds) as readonly Kind[];

/** The lists that a notification of a server concerns. */
export const changedBy: Readonly<Record<string, readonly Kind[]>> = {
  'notifications/subscriptions/acknowledged': allKinds,
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'templates', 'skills'],
};

/** The notification that tells clients of changes in a kind of list. */
export const changeOf: Readonly<Record<Kind, string>> = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
  templates: 'notifications/resources/list_changed',
  skills: 'notifications/resources/list_changed',
};
