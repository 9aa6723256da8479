/** The action on a thing of the server. The names are those of Cedar actions. */
export type AccessAction = 'call_tool' | 'get_prompt' | 'read_resource' | 'get_skill';

/** The kind of the things that an action uses. */
export const usedKinds = {
  call_tool: 'tool',
  get_prompt: 'prompt',
  read_resource: 'resource',
  get_skill: 'skill',
} as const satisfies Readonly<Record<AccessAction, string>>;

/** A kind of things that clients use. */
export type UsedKind = (typeof usedKinds)[AccessAction];

/** A request that clients send, as far as routing, policies, audit, and telemetry must know it. */
export interface ExtensionRequest {
  /** The action for policies, and the parameter with the name or URI of the thing. */
  about?: { action: AccessAction; parameter: string };
  /** Members of the result with things, of which a client sees only those that the policies allow. */
  lists?: { member: string; action: AccessAction; name: string };
  /** How pins know the things in the result. Without it, pins do not compare the result. */
  pinned?: { kind: 'skill'; member: string; name: string; isList: boolean };
  /** The parameter with the ID of a task, which belongs to the principal that started it. */
  task?: string;
  /** The parameter that the header `Mcp-Name` repeats. Clients may leave the header out. */
  namedBy?: string;
  /** Whether the result states how long it may be cached (MCP 2026-07-28, Caching). */
  isCacheable?: boolean;
}

/** An extension of MCP. Unknown methods pass only without policies. */
interface Extension {
  title: string;
  /** The requests of clients, by method. */
  requests: Readonly<Record<string, ExtensionRequest>>;
  /** The notifications of clients. */
  clientNotifications: readonly string[];
  /** The schemes of the URIs that it defines. */
  schemes: readonly string[];
  /** The members of `_meta` that it defines. */
  metaKeys: readonly string[];
}

/** The key of Tasks in `capabilities.extensions`. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** The member of `_meta` that names the task of a message. */
export const relatedTask = 'io.modelcontextprotocol/related-task';

/** All extensions that policies can cover, by the key in `capabilities.extensions`. */
export const extensions = {
  /** Skills over MCP (SEP-2640). */
  'io.modelcontextprotocol/skills': {
    title: 'Skills',
    requests: {
      'skills/list': {
        lists: { member: 'skills', action: 'get_skill', name: 'uri' },
        pinned: { kind: 'skill', member: 'skills', name: 'uri', isList: true },
        isCacheable: true,
      },
      'skills/get': {
        about: { action: 'get_skill', parameter: 'uri' },
        pinned: { kind: 'skill', member: 'skill', name: 'uri', isList: false },
        namedBy: 'uri',
      },
      'resources/directory/read': {
        about: { action: 'read_resource', parameter: 'uri' },
        lists: { member: 'resources', action: 'read_resource', name: 'uri' },
        namedBy: 'uri',
      },
    },
    clientNotifications: [],
    schemes: ['skill'],
    metaKeys: [],
  },
  /** Tasks (SEP-2663), and the tasks of MCP 2025-11-25, which have the same methods. */
  [tasksExtension]: {
    title: 'Tasks',
    requests: {
      'tasks/get': { task: 'taskId', namedBy: 'taskId' },
      'tasks/update': { task: 'taskId', namedBy: 'taskId' },
      'tasks/cancel': { task: 'taskId', namedBy: 'taskId' },
      'tasks/result': { task: 'taskId', namedBy: 'taskId' },
    },
    clientNotifications: ['notifications/tasks/status'],
    schemes: [],
    metaKeys: [relatedTask],
  },
  /** MCP Apps (SEP-1865): resources and metadata, without requests of their own. */
  'io.modelcontextprotocol/ui': {
    title: 'MCP Apps',
    requests: {},
    clientNotifications: [],
    schemes: ['ui'],
    metaKeys: ['ui', 'ui/resourceUri'],
  },
} as const satisfies Readonly<Record<string, Extension>>;

const all: readonly (readonly [string, Extension])[] = Object.entries(extensions);

/** The requests of all extensions, by method. */
export const extensionRequests: ReadonlyMap<string, ExtensionRequest> = new Map(
  all.flatMap(([, { requests }]) => Object.entries(requests)),
);

/** The notifications that clients of any extension send. */
export const extensionNotifications: readonly string[] = all.flatMap(
  ([, { clientNotifications }]) => clientNotifications,
);

/** Whether policies can cover an extension, by its key in `capabilities.extensions`. */
export function isKnownExtension(id: string): boolean {
  return Object.hasOwn(extensions, id);
}

/** The kind of things that each request of an extension uses, and the parameter that names one. */
export const usesOfExtensions: Readonly<Record<string, { kind: UsedKind; parameter: string }>> =
  Object.fromEntries(
    [...extensionRequests].flatMap(([method, { about }]) =>
      about === undefined ? [] : [[method, { kind: usedKinds[about.action], parameter: about.parameter }]],
    ),
  );
