import { extensions } from './extensions.ts';

/** The protocol versions of clients, in order. */
export const clientVersions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
export type ClientVersion = (typeof clientVersions)[number];

/** The ways from a client to a server. */
export const ways = {
  plain: 'Workload',
  cedar: 'With policies',
  pinning: 'With blocking pins',
  combined: 'Combined endpoint',
  meta: 'Meta server',
} as const;
export type Way = keyof typeof ways;

/** The features of MCP that clients can tell apart, from the core protocol and from extensions. */
export const features = {
  apps: extensions['io.modelcontextprotocol/ui'].title,
  skills: extensions['io.modelcontextprotocol/skills'].title,
  tasks: extensions['io.modelcontextprotocol/tasks'].title,
  urlElicitation: 'URL elicitation',
  completion: 'Completion',
  subscriptions: 'Subscriptions to resources',
  progress: 'Progress',
  cancellation: 'Cancellation',
  structuredOutput: 'Structured output',
  resourceLinks: 'Resource links',
  icons: 'Icons',
  audio: 'Audio',
} as const satisfies Record<string, string>;
export type Feature = keyof typeof features;

interface Exception {
  feature: Feature;
  clients?: readonly ClientVersion[];
  ways?: readonly Way[];
  /** The reason, as a sentence for the documentation. */
  reason: string;
}

const beforeTasks = ['2024-11-05', '2025-03-26', '2025-06-18'] as const;
const throughGroups = ['combined', 'meta'] as const;

/** Everything else works for each client version, each generation of servers, and each way. */
export const exceptions: readonly Exception[] = [
  {
    feature: 'tasks',
    clients: beforeTasks,
    reason: 'Earlier versions of clients have no tasks, so their calls wait for the final result.',
  },
  {
    feature: 'tasks',
    ways: throughGroups,
    reason:
      'At the endpoints of groups, IDs of tasks would not name their server, so calls wait for the final result.',
  },
  {
    feature: 'icons',
    ways: ['meta'],
    reason: '`find_tool` returns names, descriptions, and schemas only.',
  },
];

/** Returns the reason why a feature does not work. Undefined if it works. */
export function unsupportedReason(
  feature: Feature,
  { client, way }: { client: ClientVersion; way: Way },
): string | undefined {
  return exceptions.find(
    (exception) =>
      exception.feature === feature &&
      exception.clients?.includes(client) !== false &&
      exception.ways?.includes(way) !== false,
  )?.reason;
}
