import * as z from 'zod';
import { age, resource } from './resource.ts';
import { Conditions, Reference, Time, off, say } from './values.ts';

const notEmpty = z.string().min(1);

const Selection = z.object({
  include: say(z.array(z.string()), 'Only these; all of them when absent.').optional(),
  exclude: say(z.array(z.string()), 'Not these, whatever is included.').optional(),
});

const Source = z.object({
  type: say(z.enum(['configmap', 'git', 'api']).default('configmap'), 'Where the registry is.'),
  format: say(
    z.enum(['toolhive', 'upstream']).default('toolhive'),
    'How it is written: as registries of this product, or as the MCP project writes them.',
  ),
  configmap: say(
    z.object({
      name: say(notEmpty, 'The name of the ConfigMap, in this namespace.'),
      key: say(notEmpty.default('registry.json'), 'The key that holds the registry.'),
    }),
    'A ConfigMap, for `type: configmap`.',
  ).optional(),
  git: say(
    z.object({
      repository: say(
        notEmpty.regex(/^(file:\/\/\/|https?:\/\/|git@|ssh:\/\/|git:\/\/).*/),
        'The address of the repository.',
      ),
      branch: say(notEmpty, 'The branch; give at most one of branch, tag and commit.').optional(),
      tag: say(notEmpty, 'The tag.').optional(),
      commit: say(notEmpty, 'The commit.').optional(),
      path: say(z.string().regex(/^.*\.json$/).default('registry.json'), 'The file in the repository.'), // prettier-ignore
    }),
    'A file of a Git repository, for `type: git`.',
  ).optional(),
  api: say(
    z.object({ endpoint: say(notEmpty.regex(/^https?:\/\/.*/), 'Its address, without a path of the API.') }),
    'A server that offers a registry, for `type: api`.',
  ).optional(),
});

const Sync = z.object({
  phase: say(z.enum(['Syncing', 'Complete', 'Failed']), 'How far it is.'),
  message: say(z.string(), 'Why it is so, for a person.').optional(),
  lastAttempt: say(Time, 'When it was tried last.').optional(),
  attemptCount: say(z.int().min(0), 'How often it was tried since it last worked.').optional(),
  lastSyncTime: say(Time, 'When it worked last.').optional(),
  lastSyncHash: say(z.string(), 'The hash of what was fetched then.').optional(),
  serverCount: say(z.int().min(0), 'How many servers there were.').optional(),
});

const Api = z.object({
  phase: say(z.enum(['NotStarted', 'Deploying', 'Ready', 'Unhealthy', 'Error']), 'How far it is.'),
  message: say(z.string(), 'Why it is so, for a person.').optional(),
  endpoint: say(z.string(), 'Where it is reached in the cluster.').optional(),
  readySince: say(Time, 'Since when it answers.').optional(),
});

const Storage = z.object({
  type: say(z.enum(['configmap']), 'What it is kept in.'),
  configMapRef: say(
    z
      .object({ name: say(Reference.shape.name.default(''), 'The name of the ConfigMap.') })
      .meta({ 'x-kubernetes-map-type': 'atomic' }),
    'The ConfigMap.',
  ).optional(),
});

/** A catalogue of servers for the cluster. */
export const mcpRegistry = resource({
  kind: 'MCPRegistry',
  singular: 'mcpregistry',
  plural: 'mcpregistries',
  categories: ['toolhive'],
  summary: 'A catalogue of servers for a cluster, fetched from somewhere and offered over HTTP.',
  spec: z.object({
    displayName: say(z.string(), 'What people call it.').optional(),
    source: say(Source, 'Where it comes from.'),
    syncPolicy: say(
      z.object({
        interval: say(
          z.string().regex(/^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$/),
          'How long to wait in between, such as `1h` or `30m`.',
        ),
      }),
      'Fetch it again and again; once, and on demand, when absent.',
    ).optional(),
    filter: say(
      z.object({
        names: say(Selection, 'By name; `*` and `?` stand for any characters.').optional(),
        tags: say(Selection, 'By tag.').optional(),
      }),
      'Which of its servers to take.',
    ).optional(),
    enforceServers: say(off, 'MCPServers of this namespace may only use images of such registries.'),
  }),
  status: z.object({
    phase: say(
      z.enum(['Pending', 'Ready', 'Failed', 'Syncing', 'Terminating']),
      'What it is doing.',
    ).optional(),
    message: say(z.string(), 'Why the phase is what it is, for a person.').optional(),
    conditions: say(Conditions, 'What holds of it.').optional(),
    syncStatus: say(Sync, 'How the last fetch went.').optional(),
    apiStatus: say(Api, 'The HTTP server that offers it.').optional(),
    storageRef: say(Storage, 'Where what was fetched is kept.').optional(),
    lastAppliedFilterHash: say(z.string(), 'The hash of the filter in use.').optional(),
    lastManualSyncTrigger: say(z.string(), 'The last demand that was met.').optional(),
  }),
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Sync', type: 'string', jsonPath: '.status.syncStatus.phase' },
    { name: 'API', type: 'string', jsonPath: '.status.apiStatus.phase' },
    { name: 'Servers', type: 'integer', jsonPath: '.status.syncStatus.serverCount' },
    { name: 'Last Sync', type: 'date', jsonPath: '.status.syncStatus.lastSyncTime' },
    age,
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
