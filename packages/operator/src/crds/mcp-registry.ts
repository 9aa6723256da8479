import * as z from 'zod';
import { block, lastColumns, resource, shortName } from './resource.ts';
import { Conditions, Generation, Reference, Time, off, say } from './values.ts';

const notEmpty = z.string().min(1);

const Selection = z.object({
  include: say(z.array(z.string()), 'The only entries to include. If absent, all entries.').optional(),
  exclude: say(z.array(z.string()), 'The entries to exclude, even if they are included.').optional(),
});

const Source = z.object({
  type: say(z.enum(['configmap', 'git', 'api']).default('configmap'), 'The source of the registry.'),
  format: say(
    z.enum(['toolhive', 'upstream']).default('toolhive'),
    "The format: ToolHive's registry format or the MCP registry's.",
  ),
  configmap: say(
    z.object({
      name: say(notEmpty, 'The name of the ConfigMap, in this namespace.'),
      key: say(notEmpty.default('registry.json'), 'The key with the registry.'),
    }),
    'A ConfigMap, for `type: configmap`.',
  ).optional(),
  git: say(
    z.object({
      repository: say(
        notEmpty.regex(/^(file:\/\/\/|https?:\/\/|git@|ssh:\/\/|git:\/\/).*/),
        'The URL of the repository.',
      ),
      branch: say(notEmpty, 'The branch. Set at most one of branch, tag, and commit.').optional(),
      tag: say(notEmpty, 'The tag.').optional(),
      commit: say(notEmpty, 'The commit.').optional(),
      path: say(
        z
          .string()
          .regex(/^.*\.json$/)
          .default('registry.json'),
        'The file in the repository.',
      ),
    }),
    'A file in a Git repository, for `type: git`.',
  ).optional(),
  api: say(
    z.object({
      endpoint: say(notEmpty.regex(/^https?:\/\/.*/), 'The base URL of the server, without an API path.'),
    }),
    'A server with a registry API, for `type: api`.',
  ).optional(),
});

const Sync = z.object({
  phase: say(z.enum(['Syncing', 'Complete', 'Failed']), 'The phase of the synchronization.'),
  message: say(z.string(), 'The reason for the phase.').optional(),
  lastAttempt: say(Time, 'The time of the last attempt.').optional(),
  attemptCount: say(z.int().min(0), 'The number of attempts since the last success.').optional(),
  lastSyncTime: say(Time, 'The time of the last success.').optional(),
  lastSyncHash: say(z.string(), 'The hash of the content at that time.').optional(),
  serverCount: say(z.int().min(0), 'The number of servers in the registry.').optional(),
});

const Api = z.object({
  phase: say(z.enum(['NotStarted', 'Deploying', 'Ready', 'Unhealthy', 'Error']), 'The phase of the API.'),
  message: say(z.string(), 'The reason for the phase.').optional(),
  endpoint: say(z.string(), 'The URL of the API in the cluster.').optional(),
  readySince: say(Time, 'The time when the API became ready.').optional(),
});

const Storage = z.object({
  type: say(z.enum(['configmap']), 'The storage type.'),
  configMapRef: say(
    z
      .object({ name: say(Reference.shape.name.default(''), 'The name of the ConfigMap.') })
      .meta({ 'x-kubernetes-map-type': 'atomic' }),
    'The ConfigMap.',
  ).optional(),
});

/** A server registry for the cluster. */
export const mcpRegistry = resource({
  kind: 'MCPRegistry',
  singular: 'mcpregistry',
  plural: 'mcpregistries',
  shortNames: ['mcpreg'],
  summary: 'A server registry for a cluster, fetched from a ConfigMap or a Git repository.',
  spec: z.object({
    displayName: say(z.string(), 'The display name.').optional(),
    source: say(Source, 'The source.'),
    syncPolicy: say(
      z.object({
        interval: say(
          z.string().regex(/^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$/),
          'The time between two fetches, such as `1h` or `30m`.',
        ),
      }),
      'How often to fetch the source. If absent, the operator fetches the source once and on demand.',
    ).optional(),
    filter: say(
      z.object({
        names: say(Selection, 'Filters by name. `*` and `?` match any characters.').optional(),
        tags: say(Selection, 'By tag.').optional(),
      }),
      'The servers to include.',
    ).optional(),
    enforceServers: say(
      off,
      'Allow MCPServers in this namespace to use only images of registries with this field, also in `spec.podTemplateSpec`.',
    ),
  }),
  rules: [
    shortName,
    block('self.spec.source', 'configmap'),
    block('self.spec.source', 'git'),
    block('self.spec.source', 'api'),
    {
      rule: '!has(self.spec.source.git) || [has(self.spec.source.git.branch), has(self.spec.source.git.tag), has(self.spec.source.git.commit)].filter(isSet, isSet).size() <= 1',
      message: 'spec.source.git can have one of branch, tag, and commit',
    },
  ],
  status: z.object({
    phase: say(
      z.enum(['Pending', 'Ready', 'Failed', 'Syncing', 'Terminating']),
      'The current phase.',
    ).optional(),
    message: say(z.string(), 'The reason for the phase.').optional(),
    conditions: say(Conditions, 'The latest observations.').optional(),
    observedGeneration: say(Generation, 'The latest generation that the operator has processed.').optional(),
    syncStatus: say(Sync, 'The result of the last fetch.').optional(),
    apiStatus: say(Api, 'The HTTP server that serves the registry.').optional(),
    storageRef: say(Storage, 'The storage of the fetched content.').optional(),
    lastAppliedFilterHash: say(z.string(), 'The hash of the filter in use.').optional(),
    lastManualSyncTrigger: say(
      z.string(),
      'The last manual request for a fetch that the operator completed.',
    ).optional(),
  }),
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Sync', type: 'string', jsonPath: '.status.syncStatus.phase' },
    { name: 'API', type: 'string', jsonPath: '.status.apiStatus.phase' },
    { name: 'Servers', type: 'integer', jsonPath: '.status.syncStatus.serverCount' },
    { name: 'Last Sync', type: 'date', jsonPath: '.status.syncStatus.lastSyncTime' },
    ...lastColumns,
  ],
  example: {
    name: 'company',
    spec: {
      displayName: 'Servers of the company',
      source: {
        type: 'git',
        git: { repository: 'https://git.example.com/platform/registry.git', branch: 'main' },
      },
      syncPolicy: { interval: '1h' },
      filter: { tags: { exclude: ['experimental'] } },
    },
  },
});
