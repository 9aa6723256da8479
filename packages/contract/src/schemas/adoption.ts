import * as z from 'zod';
import { ClientName } from './client.ts';
import { LocalPorts, WorkloadName } from './names.ts';
import { WorkloadCheck } from './preview.ts';

const file = z.string().meta({ description: 'The configuration file.' });

const AdoptionPlace = z
  .object({
    client_type: ClientName,
    scope: z.enum(['user', 'project']).meta({
      description: 'Whether the entry is for all projects of the user or for one.',
    }),
    path: file,
    name: z.string().meta({ description: 'The name of the entry.' }),
  })
  .meta({ id: 'AdoptionPlace', description: "An entry in a client's configuration." });
export type AdoptionPlace = z.infer<typeof AdoptionPlace>;

const clients = z.array(ClientName).max(100).optional().meta({ description: 'By default, all clients.' });

export const AdoptionScope = z
  .object({
    clients,
    projects: z
      .array(z.string().max(4096))
      .max(100)
      .optional()
      .meta({ description: 'The directories of projects whose files are searched too. Absolute paths.' }),
    search_path: z.string().max(131_072).optional().meta({
      description:
        "The caller's `PATH`. ToolHive looks there for installed programs that an entry names without a path, then in the daemon's `PATH` and in the directories that package managers usually use.",
    }),
    local_ports: LocalPorts.optional().meta({
      description:
        'The ports of this machine’s loopback address that a server can connect to if its entry names them. Without this list, a server that uses a program there stays with its client. Entries of projects never get ports.',
      examples: [[5432]],
    }),
  })
  .meta({
    id: 'AdoptionScope',
    description: 'Where to look for servers.',
    examples: [{ clients: ['cursor'], projects: ['/home/ada/project'] }],
  });
export type AdoptionScope = z.infer<typeof AdoptionScope>;

export const AdoptServers = z
  .object({
    ...AdoptionScope.shape,
    workloads: z
      .array(WorkloadName)
      .max(1000)
      .optional()
      .meta({
        description: 'The servers to adopt, by the `workload` of the plan. By default, all.',
        examples: [['github', 'time']],
      }),
  })
  .meta({ id: 'AdoptServers', description: 'The servers to adopt.', examples: [{ clients: ['cursor'] }] });
export type AdoptServers = z.infer<typeof AdoptServers>;

const problem = z.string().optional().meta({ description: 'The reason why the server stays as it is.' });
const hint = z.string().optional().meta({ description: 'A fix for the problem.' });

export const PlannedServer = z
  .object({
    workload: WorkloadName.meta({ description: 'The workload that runs the server.' }),
    exists: z.boolean().meta({ description: 'Whether the workload exists since an earlier adoption.' }),
    places: z.array(AdoptionPlace),
    command: z.array(z.string()).optional().meta({ description: 'The command, without credentials.' }),
    url: z.string().optional().meta({ description: 'The URL, without credentials.' }),
    check: WorkloadCheck.optional().meta({ description: 'Absent if there is a problem.' }),
    credentials: z.array(z.string()).meta({
      description: 'The names of the values that move from the file to the secrets.',
    }),
    notes: z.array(z.string()).meta({ description: 'The differences from the client configuration.' }),
    problem,
    hint,
  })
  .meta({ id: 'PlannedServer', description: 'A server that clients run, and the workload in its place.' });
export type PlannedServer = z.infer<typeof PlannedServer>;

const PlannedFile = z
  .object({
    path: file,
    diff: z.string().meta({ description: 'The changed entries as a unified diff, without credentials.' }),
  })
  .meta({ id: 'PlannedFile', description: 'The change of a configuration file.' });

export const AdoptionPlan = z
  .object({
    servers: z.array(PlannedServer),
    files: z.array(PlannedFile),
    problems: z
      .array(z.object({ client_type: ClientName, path: file, problem: z.string() }))
      .meta({ description: 'The files that cannot be read.' }),
  })
  .meta({ id: 'AdoptionPlan', description: 'The servers that clients run themselves, as workloads.' });
export type AdoptionPlan = z.infer<typeof AdoptionPlan>;

const AdoptedServer = z
  .object({
    workload: WorkloadName,
    places: z.array(AdoptionPlace),
    notes: z.array(z.string()).meta({ description: 'What the user should know about the workload.' }),
    problem,
    hint,
  })
  .meta({
    id: 'AdoptedServer',
    description: 'A server whose clients now use the workload, unless there is a problem.',
  });
export type AdoptedServer = z.infer<typeof AdoptedServer>;

export const AdoptionResult = z
  .object({ servers: z.array(AdoptedServer) })
  .meta({ id: 'AdoptionResult', description: 'The results of an adoption.' });
export type AdoptionResult = z.infer<typeof AdoptionResult>;

export const Adoption = z
  .object({
    ...AdoptionPlace.shape,
    workload: WorkloadName,
    adopted_at: z.string().meta({ format: 'date-time' }),
    backup: z.string().meta({ description: 'The encrypted copy of the file before the change.' }),
  })
  .meta({ id: 'Adoption', description: 'An adopted entry, with the backup of its file.' });
export type Adoption = z.infer<typeof Adoption>;

export const Adoptions = z
  .object({ adoptions: z.array(Adoption) })
  .meta({ id: 'Adoptions', description: 'The adopted entries, the oldest first.' });

export const UndoAdoption = z
  .object({
    clients,
    whole_files: z.boolean().optional().meta({
      description: 'Restore the files as they were, without the changes that were made to them since.',
    }),
  })
  .meta({ id: 'UndoAdoption', description: 'The adoptions to undo.', examples: [{ clients: ['cursor'] }] });
export type UndoAdoption = z.infer<typeof UndoAdoption>;

const RestoredFile = z
  .object({
    path: file,
    restored: z.enum(['file', 'entries', 'nothing']).meta({
      description:
        '`file`: every byte is as before. `entries`: the file has changed since, so only the entries are as before. `nothing`: the entries no longer lead to the workload, or there is a problem.',
    }),
    problem: z.string().optional().meta({ description: 'The reason why the file stays as it is.' }),
    hint,
  })
  .meta({ id: 'RestoredFile' });

export const UndoneAdoption = z
  .object({
    files: z.array(RestoredFile),
    stopped: z.array(WorkloadName).meta({
      description: 'The workloads that no client uses anymore. They are stopped and keep their data.',
    }),
  })
  .meta({ id: 'UndoneAdoption', description: 'The restored files.' });
export type UndoneAdoption = z.infer<typeof UndoneAdoption>;
