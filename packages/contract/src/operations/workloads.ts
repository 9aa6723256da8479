import * as z from 'zod';
import { operation } from '../operation.ts';
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
import { QueryFlag } from './query.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) });

/** Which part of a log to read. */
const logWindow = (lines: number) =>
  z.object({
    tail: z.coerce
      .number()
      .int()
      .min(0)
      .max(10_000)
      .default(lines)
      .meta({ description: 'At most so many lines, counted from the end.' }),
    since: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: 'Only what was written at or after this time, as RFC 3339.' }),
    follow: QueryFlag.optional().meta({
      description: '`true` goes on with what is written from now on, until the caller or the workload ends.',
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
      .meta({ description: 'Another name for `tail`, which it overrides.', type: 'integer' }),
  });

/** One operation on several workloads. Nothing is done when one of the names is wrong. */
const bulk = <const Verb extends 'start' | 'stop' | 'restart' | 'delete'>(verb: Verb, summary: string) =>
  operation({
    method: 'POST',
    path: `/workloads/${verb}`,
    tag: 'workloads',
    summary,
    description: 'Takes names, or a group for all of its workloads; never both.',
    body: WorkloadSelection,
    success: { status: 202, description: 'Accepted; the status of each tells the rest.' },
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
    status_context: z
      .string()
      .optional()
      .meta({ description: 'Why the status is what it is, for a person.' }),
  })
  .meta({ id: 'StatusOfWorkload' });

const Manifest = z
  .object({
    manifest: z.string().meta({ description: 'YAML.' }),
    warnings: z.array(z.string()).meta({ description: 'What it leaves for a person to do.' }),
  })
  .meta({ id: 'Manifest', description: 'A workload as Kubernetes takes it.' });

const StartedSignIn = z
  .object({
    url: z.string().optional().meta({
      description: 'http or https. Absent if the server accepts the workload without a sign-in by now.',
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
    summary: 'List workloads',
    query: z.object({
      all: QueryFlag.optional().meta({ description: '`true` lists those that do not run, too.' }),
      group: GroupName.optional().meta({ description: 'Only workloads of this group.' }),
    }),
    success: { status: 200, description: 'The workloads.', body: WorkloadList },
    failures: ['not-found'],
  }),
  createWorkload: operation({
    method: 'POST',
    path: '/workloads',
    tag: 'workloads',
    summary: 'Create and start a workload',
    description:
      'Gets the server ready (pull or install) before it answers, so that a source that does not exist is refused and leaves nothing behind. The status tells how the start went. A run config, as an export gives it, is taken as well.',
    body: WorkloadRequest,
    success: { status: 201, description: 'Created, and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['not-found', 'conflict', 'unavailable', 'not-implemented'],
  }),
  getWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}',
    tag: 'workloads',
    summary: 'Describe a workload',
    params: byName,
    success: {
      status: 200,
      description: 'The workload and what it was asked for. The `ETag` header has the `revision`, in quotes.',
      body: WorkloadDetails,
    },
    failures: ['not-found'],
  }),
  editWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/edit',
    tag: 'workloads',
    summary: 'Change a workload',
    description:
      'Replaces everything that the workload was asked for, and runs it with that. It keeps its name, and its port unless another is named. Until the new server is ready to start, the old one goes on; a request that is refused changes nothing. A run config, as an export gives it, is taken as well.',
    params: byName,
    headers: z.object({
      'if-match': z.string().max(2000).optional().meta({
        description:
          'The `ETag` of the workload that the change is based on. If its settings were changed since, nothing is changed, and the answer is 412. Without this header, the settings are replaced whatever they are.',
      }),
    }),
    body: WorkloadRequest,
    success: { status: 200, description: 'Changed, and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['not-found', 'conflict', 'precondition-failed', 'unavailable', 'not-implemented'],
  }),
  checkWorkload: operation({
    method: 'POST',
    path: '/workloads/check',
    tag: 'workloads',
    summary: 'Check a request for a workload',
    description:
      'Finds out what the request would create, without installing or starting anything. Fails like the request itself would, except for missing consent, which the answer lists.',
    query: z.object({
      edit: WorkloadName.optional().meta({
        description: 'The workload that the request would edit. By default, it would create one.',
      }),
    }),
    body: WorkloadRequest,
    success: { status: 200, description: 'What the request would create.', body: WorkloadCheck },
    failures: ['not-found', 'conflict', 'unavailable', 'not-implemented'],
  }),
  previewImport: operation({
    method: 'POST',
    path: '/import/preview',
    tag: 'workloads',
    summary: 'Translate the configuration of a client into workloads',
    description: 'Runs nothing. Each request of the answer can be sent to create the workload.',
    body: ImportDocument,
    success: { status: 200, description: 'The servers of the document.', body: ImportPreview },
    failures: [],
  }),
  getWorkloadUpdate: operation({
    method: 'GET',
    path: '/workloads/{name}/update',
    tag: 'workloads',
    summary: 'Look up a newer version of a server',
    description: 'Asks the package registry, and installs nothing.',
    params: byName,
    query: z.object({
      changes: QueryFlag.optional().meta({
        description: '`true` also finds out what the upgrade would change, which takes longer.',
      }),
    }),
    success: { status: 200, description: 'What runs, and what is the newest.', body: WorkloadUpdate },
    failures: ['not-found'],
  }),
  upgradeWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/upgrade',
    tag: 'workloads',
    summary: 'Run another version of a server',
    description:
      'Keeps the permissions and settings. The old version runs until the new one is installed. Changed tools are not approved by that.',
    params: byName,
    body: UpgradeWorkload,
    success: { status: 200, description: 'Changed, and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['not-found', 'conflict', 'unavailable', 'not-implemented'],
  }),
  exportWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}/export',
    tag: 'workloads',
    summary: 'Export a workload',
    description:
      'Everything needed to run it again, here or elsewhere. Values of environment variables are in it, secrets are only referred to.',
    params: byName,
    success: { status: 200, description: 'The run config.', body: RunConfig },
    failures: ['not-found'],
  }),
  exportManifest: operation({
    method: 'GET',
    path: '/workloads/{name}/export/kubernetes',
    tag: 'workloads',
    summary: 'Export a workload for Kubernetes',
    description:
      'The workload as an MCPServer for the operator, without its secrets. Remote servers cannot be exported.',
    params: byName,
    success: { status: 200, description: 'The manifest, and what it leaves to do.', body: Manifest },
    failures: ['not-found', 'unsupported'],
  }),
  getWorkloadStatus: operation({
    method: 'GET',
    path: '/workloads/{name}/status',
    tag: 'workloads',
    summary: 'Tell the status of a workload',
    params: byName,
    success: { status: 200, description: 'The status.', body: StatusOfWorkload },
    failures: ['not-found'],
  }),
  getWorkloadLogs: operation({
    method: 'GET',
    path: '/workloads/{name}/logs',
    tag: 'logs',
    summary: 'Read what a server wrote',
    params: byName,
    query: logWindow(100),
    success: { status: 200, description: 'The last lines.', body: 'text', lines: LogRecord },
    failures: ['not-found'],
  }),
  getProxyLogs: operation({
    method: 'GET',
    path: '/workloads/{name}/proxy-logs',
    tag: 'logs',
    summary: 'Read what the proxy of a server noted',
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
    summary: 'Remove logs of workloads that are gone',
    success: { status: 200, description: 'Which files are gone.', body: PrunedLogs },
    failures: [],
  }),
  signInWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/sign-in',
    tag: 'workloads',
    summary: 'Start to sign in to a remote server',
    description:
      'For a workload whose `sign_in` is present. Starts a sign-in, or joins the one that is under way, and answers as soon as its page is known. The browser of the user opens that page too, unless the workload was created with `skip_browser`. A workload that was given up is started again.',
    params: byName,
    success: { status: 200, description: 'The page where the user can sign in.', body: StartedSignIn },
    failures: ['not-found', 'conflict', 'unavailable'],
  }),
  stopWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/stop',
    tag: 'workloads',
    summary: 'Stop a workload',
    params: byName,
    success: { status: 202, description: 'Accepted; the status tells the rest.' },
    progress: true,
    failures: ['not-found'],
  }),
  startWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/start',
    tag: 'workloads',
    summary: 'Start a workload that does not run',
    description: 'A workload that runs and is well is left alone.',
    params: byName,
    success: { status: 202, description: 'Accepted; the status tells the rest.' },
    progress: true,
    failures: ['not-found'],
  }),
  restartWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/restart',
    tag: 'workloads',
    summary: 'Stop a workload and start it again',
    description: 'Secrets are read anew. A workload that does not run is started.',
    params: byName,
    success: { status: 202, description: 'Accepted; the status tells the rest.' },
    progress: true,
    failures: ['not-found'],
  }),
  deleteWorkload: operation({
    method: 'DELETE',
    path: '/workloads/{name}',
    tag: 'workloads',
    summary: 'Stop a workload and remove all of it',
    params: byName,
    success: { status: 202, description: 'Accepted; the workload is gone when the list no longer has it.' },
    progress: true,
    failures: ['not-found'],
  }),
  stopWorkloads: bulk('stop', 'Stop workloads'),
  startWorkloads: bulk('start', 'Start workloads that do not run'),
  restartWorkloads: bulk('restart', 'Stop workloads and start them again'),
  deleteWorkloads: bulk('delete', 'Stop workloads and remove all of them'),
};
