import * as z from 'zod';
import { operation } from '../operation.ts';
import type { SampleCommand } from '../operation.ts';
import { BundleDescription, ExportedBundle, InspectBundle } from '../schemas/bundle.ts';
import { ExecEvent, ExecInput, ExecWorkload } from '../schemas/exec.ts';
import { GroupName, WorkloadName } from '../schemas/names.ts';
import { LogRecord } from '../schemas/log-record.ts';
import { ImportDocument, ImportPreview, WorkloadCheck } from '../schemas/preview.ts';
import { RunConfig } from '../schemas/run-config.ts';
import {
  CreateWorkload,
  CreatedWorkload,
  Workload,
  WorkloadDetails,
  WorkloadSelection,
  WorkloadStatus,
} from '../schemas/workload.ts';
import { UpgradeWorkload, WorkloadUpdate } from '../schemas/update.ts';
import { QueryFlag, search, timeRange } from './query.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The workload name.' }) });

/** The part of a log to read. */
const logWindow = (lines: number) =>
  z.object({
    tail: z.coerce
      .number()
      .int()
      .min(0)
      .max(10_000)
      .default(lines)
      .meta({ description: 'The maximum number of lines, counted from the end.' }),
    ...timeRange('lines'),
    search: search('Only lines that contain this text, in any letter case. The whole log is searched.'),
    follow: QueryFlag.optional().meta({
      description: '`true` continues with new lines until the client disconnects or the workload is removed.',
    }),
    format: z.enum(['text', 'ndjson']).optional().meta({
      description:
        '`ndjson` sends one JSON object per line, and so does the header `Accept: application/x-ndjson`.',
    }),
    before: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .meta({ description: 'Only lines before the one with this `line`.', type: 'integer' }),
    limit: z.coerce
      .number()
      .int()
      .min(0)
      .max(10_000)
      .optional()
      .meta({ description: 'Another name for `tail`. Overrides `tail`.', type: 'integer' }),
  });

/** An operation on several workloads. If one of the names does not exist, nothing happens. */
const bulk = <const Verb extends 'start' | 'stop' | 'restart' | 'delete'>(
  verb: Verb,
  summary: string,
  command: SampleCommand,
) =>
  operation({
    method: 'POST',
    path: `/workloads/${verb}`,
    tag: 'workloads',
    access: 'write',
    command,
    summary,
    description: 'Accepts names, or a group for all of its workloads, but not both.',
    body: WorkloadSelection,
    success: {
      status: 202,
      description: 'The request is accepted. The status of each workload shows the progress.',
    },
    progress: true,
    failures: ['not-found'],
  });

const WorkloadRequest = z.discriminatedUnion('schema_version', [CreateWorkload, RunConfig]);

const WorkloadList = z
  .object({ workloads: z.array(Workload) })
  .meta({ id: 'WorkloadList', description: 'Workloads, sorted by name.' });

const StatusOfWorkload = z
  .object({
    status: WorkloadStatus,
    status_context: z.string().optional().meta({ description: 'The reason for the status, for users.' }),
  })
  .meta({ id: 'StatusOfWorkload' });

const Manifest = z
  .object({
    manifest: z.string().meta({ description: 'YAML.' }),
    warnings: z.array(z.string()).meta({ description: 'The steps that you have to do.' }),
  })
  .meta({ id: 'Manifest', description: 'A workload as a Kubernetes manifest.' });

const StartedSignIn = z
  .object({
    url: z.string().optional().meta({
      description: 'An http or https URL. Absent if the server no longer requires a sign-in.',
    }),
  })
  .meta({ id: 'StartedSignIn', description: 'A sign-in to a remote server.' });

const PrunedLogs = z
  .object({ removed: z.array(z.string()).meta({ description: 'The paths of the files, sorted.' }) })
  .meta({ id: 'PrunedLogs', description: 'Logs that were removed.' });

export const workloadOperations = {
  listWorkloads: operation({
    method: 'GET',
    path: '/workloads',
    tag: 'workloads',
    access: 'read-items',
    command: ['list', '--all'],
    summary: 'List workloads',
    query: z.object({
      all: QueryFlag.optional().meta({ description: '`true` also lists stopped workloads.' }),
      group: GroupName.optional().meta({ description: 'Only workloads in this group.' }),
    }),
    success: { status: 200, description: 'The workloads.', body: WorkloadList },
    failures: ['not-found'],
  }),
  createWorkload: operation({
    method: 'POST',
    path: '/workloads',
    tag: 'workloads',
    access: 'write',
    command: ['run', 'server-everything'],
    summary: 'Create and start a workload',
    description:
      'Pulls or installs the server before the response, so that a request with a missing source fails and leaves nothing behind. The workload status shows the progress of the start. The body can also be an exported run config.',
    body: WorkloadRequest,
    success: { status: 201, description: 'The workload is created and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable', 'not-implemented'],
  }),
  getWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Describe a workload',
    params: byName,
    success: {
      status: 200,
      description: 'The workload with its settings. The `ETag` header contains the `revision` in quotes.',
      body: WorkloadDetails,
    },
    failures: ['not-found'],
  }),
  editWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/edit',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Change a workload',
    description:
      'Replaces all workload settings and restarts the workload. The workload keeps its name, and its port unless the request contains another port. The old server runs until the new one is installed, and a request that fails changes nothing. The body can also be an exported run config.',
    params: byName,
    headers: z.object({
      'if-match': z.string().max(2000).optional().meta({
        description:
          'The `ETag` of the settings that you edited. If the settings have changed since, the request fails with status 412. Without this header, the request replaces any settings.',
      }),
    }),
    body: WorkloadRequest,
    success: { status: 200, description: 'The workload is changed and starting.', body: CreatedWorkload },
    progress: true,
    failures: [
      'not-found',
      'unsupported',
      'conflict',
      'precondition-failed',
      'unavailable',
      'not-implemented',
    ],
  }),
  checkWorkload: operation({
    method: 'POST',
    path: '/workloads/check',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Check a request for a workload',
    description:
      'Returns the workload that the request would create, without installing or starting a server. Fails for the same reasons as the request, except for missing consent, which the response lists.',
    query: z.object({
      edit: WorkloadName.optional().meta({
        description:
          'The workload that the request would edit. By default, the request would create a workload.',
      }),
    }),
    body: WorkloadRequest,
    success: { status: 200, description: 'The workload that the request would create.', body: WorkloadCheck },
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable', 'not-implemented'],
  }),
  inspectBundle: operation({
    method: 'POST',
    path: '/bundles/inspect',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Inspect a bundle',
    description:
      'Downloads the bundle if its content is not stored yet, checks it, and returns the values that it asks for. Runs nothing of the bundle.',
    body: InspectBundle,
    success: { status: 200, description: 'The bundle.', body: BundleDescription },
    failures: ['not-found', 'conflict', 'unavailable'],
  }),
  previewImport: operation({
    method: 'POST',
    path: '/import/preview',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Translate a client configuration or commands into workloads',
    description: 'Runs nothing. To create a workload, send its request from the response.',
    body: ImportDocument,
    success: { status: 200, description: 'The servers in the document.', body: ImportPreview },
    failures: [],
  }),
  getWorkloadUpdate: operation({
    method: 'GET',
    path: '/workloads/{name}/update',
    tag: 'workloads',
    access: 'read',
    command: ['outdated', 'memory'],
    summary: 'Check for a newer server version',
    description: 'Queries the package registry, and installs nothing.',
    params: byName,
    query: z.object({
      changes: QueryFlag.optional().meta({
        description: '`true` also returns the changes of the upgrade, which takes longer.',
      }),
    }),
    success: {
      status: 200,
      description: 'The installed version and the newest version.',
      body: WorkloadUpdate,
    },
    failures: ['not-found'],
  }),
  upgradeWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/upgrade',
    tag: 'workloads',
    access: 'write',
    command: ['upgrade', '--yes'],
    summary: 'Run another version of a server',
    description:
      'Keeps the permissions and settings. The old version runs until the new one is installed. The upgrade does not approve changed tools.',
    params: byName,
    body: UpgradeWorkload,
    success: { status: 200, description: 'The workload is changed and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable', 'not-implemented'],
  }),
  exportWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}/export',
    tag: 'workloads',
    access: 'read',
    command: ['export', '.json'],
    summary: 'Export a workload',
    description:
      'Returns all workload settings, so that you can run the same workload on any machine. The export contains the values of environment variables, but only the names of secrets.',
    params: byName,
    success: { status: 200, description: 'The run config.', body: RunConfig },
    failures: ['not-found'],
  }),
  exportManifest: operation({
    method: 'GET',
    path: '/workloads/{name}/export/kubernetes',
    tag: 'workloads',
    access: 'read',
    command: ['export', 'k8s'],
    summary: 'Export a workload for Kubernetes',
    description:
      'Returns the workload as manifests for the Kubernetes operator, without its secrets: an MCPServer or an MCPRemoteProxy, and the objects that it references. A remote server requires OIDC settings.',
    params: byName,
    success: { status: 200, description: 'The manifest, and the remaining steps.', body: Manifest },
    failures: ['not-found', 'unsupported'],
  }),
  exportBundle: operation({
    method: 'GET',
    path: '/workloads/{name}/export/bundle',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Export a workload as a bundle',
    description:
      'Returns the files of a bundle that connects a client to the running workload. It contains no secrets. The command thv export --format mcpb packs them.',
    params: byName,
    success: { status: 200, description: 'The files.', body: ExportedBundle },
    failures: ['not-found'],
  }),
  getWorkloadStatus: operation({
    method: 'GET',
    path: '/workloads/{name}/status',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Get the workload status',
    params: byName,
    success: { status: 200, description: 'The status.', body: StatusOfWorkload },
    failures: ['not-found'],
  }),
  getWorkloadLogs: operation({
    method: 'GET',
    path: '/workloads/{name}/logs',
    tag: 'logs',
    access: 'read',
    command: ['logs'],
    summary: 'Get a server log',
    params: byName,
    query: logWindow(100),
    success: { status: 200, description: 'The last lines.', body: 'text', lines: LogRecord },
    failures: ['not-found'],
  }),
  getProxyLogs: operation({
    method: 'GET',
    path: '/workloads/{name}/proxy-logs',
    tag: 'logs',
    access: 'read',
    command: ['logs', '--proxy'],
    summary: 'Get a proxy log',
    params: byName,
    query: logWindow(10_000),
    success: {
      status: 200,
      description: 'The last lines, one JSON object each.',
      body: 'text',
      lines: LogRecord,
    },
    failures: ['not-found'],
  }),
  pruneLogs: operation({
    method: 'POST',
    path: '/logs/prune',
    tag: 'logs',
    access: 'write',
    command: ['logs prune'],
    summary: 'Remove logs of removed workloads',
    success: { status: 200, description: 'The removed files.', body: PrunedLogs },
    failures: [],
  }),
  signInWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/sign-in',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Start the sign-in to a remote server',
    description:
      "For a workload with `sign_in`. Starts a sign-in, or joins a pending sign-in, and returns the page address. The user's browser also opens the page, unless the workload has the setting `skip_browser`. A failed workload is started again.",
    params: byName,
    success: { status: 200, description: 'The page where the user can sign in.', body: StartedSignIn },
    failures: ['not-found', 'conflict', 'unavailable'],
  }),
  execWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/exec',
    tag: 'workloads',
    access: 'write',
    command: ['exec'],
    summary: "Run a server's program once with other arguments",
    description:
      'For commands such as the sign-in of a server. The program runs in place of the server, with its permissions, files, and secrets, until it ends or the client disconnects. Then the server starts again, unless the workload was stopped before.',
    params: byName,
    body: ExecWorkload,
    success: {
      status: 200,
      description: 'The output of the program, until it has ended. The last event is `ended` or `failed`.',
      body: { events: ExecEvent },
    },
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable'],
  }),
  sendExecInput: operation({
    method: 'POST',
    path: '/workloads/{name}/exec/input',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Write to the standard input of a running program',
    params: byName,
    body: ExecInput,
    success: { status: 204, description: 'The program receives the text.' },
    failures: ['not-found', 'conflict'],
  }),
  stopWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/stop',
    tag: 'workloads',
    access: 'write',
    command: ['stop', 'filesystem'],
    summary: 'Stop a workload',
    params: byName,
    success: { status: 202, description: 'The request is accepted. The workload status shows the progress.' },
    progress: true,
    failures: ['not-found'],
  }),
  startWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/start',
    tag: 'workloads',
    access: 'write',
    command: ['start', 'filesystem'],
    summary: 'Start a workload',
    description: 'A running, healthy workload does not change.',
    params: byName,
    success: { status: 202, description: 'The request is accepted. The workload status shows the progress.' },
    progress: true,
    failures: ['not-found'],
  }),
  restartWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/restart',
    tag: 'workloads',
    access: 'write',
    command: ['restart', 'filesystem'],
    summary: 'Restart a workload',
    description: 'Reads the secrets again. A stopped workload is started.',
    params: byName,
    success: { status: 202, description: 'The request is accepted. The workload status shows the progress.' },
    progress: true,
    failures: ['not-found'],
  }),
  deleteWorkload: operation({
    method: 'DELETE',
    path: '/workloads/{name}',
    tag: 'workloads',
    access: 'write',
    command: ['rm', 'filesystem'],
    summary: 'Remove a workload',
    params: byName,
    success: {
      status: 202,
      description: 'The request is accepted. The workload is removed when the list no longer contains it.',
    },
    progress: true,
    failures: ['not-found'],
  }),
  stopWorkloads: bulk('stop', 'Stop workloads', ['stop', '--group']),
  startWorkloads: bulk('start', 'Start workloads', ['start', '--all']),
  restartWorkloads: bulk('restart', 'Restart workloads', ['restart', '--all']),
  deleteWorkloads: bulk('delete', 'Remove workloads', ['rm', '--group']),
};
