import * as z from 'zod';
import { EndpointChoice } from './group.ts';
import { Argument, ChosenTool, Environment, GroupName, WorkloadName } from './names.ts';
import { PermissionProfile, builtInProfiles } from './permission-profile.ts';
import { WorkloadCheck } from './preview.ts';
import { Risk } from './risk.ts';
import { CreateWorkload } from './workload.ts';

/** The only version of the project file. */
export const projectVersion = 1;

const profileNames = Object.keys(builtInProfiles) as [keyof typeof builtInProfiles];

/** A server of a project. The settings that concern one machine only, such as its addresses and policies, are not here. */
export const ProjectServer = z
  .strictObject({
    source: z
      .string()
      .min(1)
      .max(4096)
      .meta({
        description:
          'The server: a registry entry, a package (npx://, uvx://, go://), a container image, a bundle (mcpb://), or the URL of a remote server. Paths start at the directory of the project.',
        examples: ['npx://@modelcontextprotocol/server-everything', 'https://mcp.example.com/mcp'],
      }),
    args: z.array(Argument).max(1000).optional().meta({ description: 'The server arguments.' }),
    env: Environment.optional().meta({
      description:
        'Environment variables. ${NAME} stands for a variable of the user, and ${input:ID} for an answer. No value is a credential.',
    }),
    secrets: z
      .record(z.string().max(256), z.string().min(1).max(256))
      .optional()
      .meta({
        description:
          'The names of stored secrets of the user, by the environment variable that receives each. For a remote server, by the header.',
        examples: [{ GITHUB_PERSONAL_ACCESS_TOKEN: 'github-token' }],
      }),
    headers: z
      .record(z.string().min(1).max(256), z.string().max(10_000))
      .optional()
      .meta({ description: 'The headers for a remote server, with the same placeholders.' }),
    volumes: z
      .array(z.string().max(4096))
      .max(100)
      .optional()
      .meta({
        description: 'Mounts, as HOST:CONTAINER or HOST:CONTAINER:ro.',
        examples: [['./notes:/notes:ro']],
      }),
    permissions: z
      .union([z.enum(profileNames), PermissionProfile.strict()])
      .optional()
      .meta({
        description: 'A built-in permission profile, or a profile.',
      }),
    ...CreateWorkload.pick({
      registry_group: true,
      url_variables: true,
      transport: true,
      proxy_mode: true,
      proxy_port: true,
      target_port: true,
      group: true,
      user_config: true,
      python_with: true,
      python_version: true,
      python_exclude_newer: true,
      python_prerelease: true,
      allow_scripts: true,
      ephemeral: true,
      resources: true,
      sessions: true,
      tools: true,
      tools_override: true,
      tool_pinning: true,
      image_verification: true,
    }).shape,
  })
  .meta({ description: 'A server of a project.' });
export type ProjectServer = z.infer<typeof ProjectServer>;

/** A group with servers of a project. */
export const ProjectGroup = z
  .strictObject({
    description: z.string().max(500).optional(),
    endpoint: EndpointChoice.optional(),
    tools: z
      .array(ChosenTool)
      .max(2_000)
      .optional()
      .meta({
        description:
          'The tools that the combined endpoint offers, as SERVER/TOOL, or SERVER/* for all tools of a server. By default, all.',
        examples: [['time/get_current_time']],
      }),
  })
  .meta({ description: 'A group with servers of the project only.' });
export type ProjectGroup = z.infer<typeof ProjectGroup>;

const ProjectInput = z
  .strictObject({
    id: z
      .string()
      .regex(/^[\w.-]{1,100}$/)
      .meta({ description: 'The ID in ${input:ID}.' }),
    description: z.string().max(1000).optional(),
    password: z.boolean().optional().meta({ description: 'Whether the answer is stored as a secret.' }),
    default: z.string().max(10_000).optional(),
  })
  .meta({ description: 'A question for each user of a project.' });

export const ProjectFile = z
  .strictObject({
    $schema: z.string().optional(),
    version: z.literal(projectVersion).meta({ description: 'The version of this format.' }),
    name: WorkloadName.optional().meta({
      description: 'The name of the project. By default, the name of its directory.',
    }),
    inputs: z.array(ProjectInput).max(100).optional(),
    groups: z.record(GroupName, ProjectGroup).optional().meta({
      description: 'The settings of the groups that servers name, by the name of the group.',
    }),
    servers: z.record(WorkloadName, ProjectServer).meta({ description: 'The servers, by their name.' }),
  })
  .meta({
    title: 'ToolHive project',
    description: 'A set of servers that several people use.',
  });
export type ProjectFile = z.infer<typeof ProjectFile>;

/** Where this site serves the schema of project files, for editors. */
export const projectSchemaId = 'https://docs.toolhive.example/api-specs/project.schema.json';

/** The JSON Schema of project files. */
export function projectJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(ProjectFile, { io: 'input' });
  return { $schema, $id: projectSchemaId, ...schema };
}

const path = z.string().min(1).max(4096).meta({
  description: 'The absolute path of the project file, which identifies the project on this machine.',
});

const names = z.array(z.string().max(256)).max(1000).optional();

/** The lengths of files that the daemon reads. */
export const maxProjectFile = 500_000;
export const maxProjectLock = 4_000_000;

const projectShape = {
  path,
  text: z.string().max(maxProjectFile).meta({
    description: 'The project file: toolhive.yaml, or the configuration file of an MCP client.',
  }),
  lock: z.string().max(maxProjectLock).optional().meta({
    description: 'The lock file, if there is one.',
  }),
  variables: z.record(z.string().max(256), z.string()).optional().meta({
    description: 'The variables of the user that the file may name. Servers get only those that it names.',
  }),
  inputs: z.record(z.string().max(256), z.string()).optional().meta({
    description: 'Answers to the questions of the file, by their ID.',
  }),
  locked: z.boolean().optional().meta({
    description: 'Refuse every difference from the lock file.',
  }),
  update: names.meta({ description: 'The servers whose locked versions and tools are replaced.' }),
  update_all: z.boolean().optional().meta({ description: 'The same for all servers.' }),
  prune: z.boolean().optional().meta({
    description: 'Remove the workloads of the project that are no longer in the file.',
  }),
};

const exampleFile = {
  path: '/home/ada/project/toolhive.yaml',
  text: 'version: 1\nservers:\n  time:\n    source: uvx://mcp-server-time\n',
};

export const ProjectRequest = z
  .object(projectShape)
  .meta({ id: 'ProjectRequest', description: 'A project file.', examples: [exampleFile] });
export type ProjectRequest = z.infer<typeof ProjectRequest>;

export const ApplyProject = z
  .object({
    ...projectShape,
    plan: z.string().max(64).meta({
      description: 'The `digest` of the plan that the user has accepted. Another plan is refused.',
    }),
    accepted_risks: z.array(Risk).optional().meta({ description: 'The accepted dangerous access.' }),
  })
  .meta({
    id: 'ApplyProject',
    description: 'A project file, with the accepted plan.',
    examples: [{ ...exampleFile, plan: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae' }],
  });
export type ApplyProject = z.infer<typeof ApplyProject>;

const problem = z.string().optional().meta({ description: 'The reason why nothing happens to the server.' });
const hint = z.string().optional().meta({ description: 'A fix for the problem.' });

const action = z.enum(['create', 'update', 'start', 'keep', 'remove', 'leave']).meta({
  description:
    '`keep`: nothing changes. `leave`: the server is no longer in the file, and its workload stays until it is pruned.',
});

const PlannedProjectServer = z
  .object({
    name: z.string().meta({ description: 'The name in the file.' }),
    workload: WorkloadName,
    action,
    changes: z.array(z.string()).meta({ description: 'The changed settings, in words.' }),
    access: z.array(z.string()).meta({
      description: 'The secrets, variables, and files of the user that the server gets, in words.',
    }),
    check: WorkloadCheck.optional().meta({ description: 'The workload of a new or changed server.' }),
    notes: z.array(z.string()),
    problem,
    hint,
  })
  .meta({ id: 'PlannedProjectServer', description: 'The plan for a server of a project.' });
export type PlannedProjectServer = z.infer<typeof PlannedProjectServer>;

const PlannedProjectGroup = z
  .object({
    name: z.string(),
    changes: z.array(z.string()).meta({ description: 'The changed settings, in words.' }),
    problem,
    hint,
  })
  .meta({ id: 'PlannedProjectGroup', description: 'The plan for a group of a project.' });
export type PlannedProjectGroup = z.infer<typeof PlannedProjectGroup>;

const LockRefusal = z
  .object({
    server: z.string().optional().meta({ description: 'Absent for the whole lock file.' }),
    message: z.string(),
    hint: z.string(),
  })
  .meta({ id: 'LockRefusal', description: 'A difference from the lock file.' });
export type LockRefusal = z.infer<typeof LockRefusal>;

export const ProjectPlan = z
  .object({
    project: z.string().meta({ description: 'The name of the project.' }),
    path,
    servers: z.array(PlannedProjectServer),
    groups: z
      .array(PlannedProjectGroup)
      .optional()
      .meta({ description: 'Absent if the file has no groups.' }),
    inputs: z
      .array(
        z.object({
          id: z.string(),
          description: z.string(),
          secret: z.boolean(),
        }),
      )
      .meta({ description: 'The questions without an answer.' }),
    refusals: z.array(LockRefusal).meta({ description: 'With `locked`, the differences.' }),
    digest: z.string().meta({ description: 'Identifies the plan.' }),
  })
  .meta({ id: 'ProjectPlan', description: 'The difference between a project file and its workloads.' });
export type ProjectPlan = z.infer<typeof ProjectPlan>;

const AppliedServer = z
  .object({
    name: z.string(),
    workload: WorkloadName,
    action,
    url: z.string().optional().meta({ description: 'The URL for clients.' }),
    notes: z.array(z.string()),
    problem,
    hint,
  })
  .meta({ id: 'AppliedServer', description: 'The result for a server of a project.' });
export type AppliedServer = z.infer<typeof AppliedServer>;

const AppliedGroup = z
  .object({
    name: z.string(),
    changed: z.boolean(),
    url: z.string().optional().meta({ description: 'The URL of the endpoint, for clients.' }),
    problem,
    hint,
  })
  .meta({ id: 'AppliedGroup', description: 'The result for a group of a project.' });
export type AppliedGroup = z.infer<typeof AppliedGroup>;

export const ProjectResult = z
  .object({
    project: z.string(),
    servers: z.array(AppliedServer),
    groups: z.array(AppliedGroup).optional().meta({ description: 'Absent if the file has no groups.' }),
    lock: z.string().optional().meta({
      description: 'The new content of the lock file. Absent if it stays as it is.',
    }),
  })
  .meta({ id: 'ProjectResult', description: 'The result for each server of a project.' });
export type ProjectResult = z.infer<typeof ProjectResult>;

const OwnedWorkload = z.object({ name: z.string(), workload: WorkloadName });

export const Projects = z
  .object({
    projects: z.array(
      z
        .object({
          name: z.string(),
          path,
          servers: z.array(OwnedWorkload),
          secrets: z.array(z.string()).meta({ description: 'The secrets that ToolHive stored for it.' }),
        })
        .meta({ id: 'Project', description: 'A project with its workloads.' }),
    ),
  })
  .meta({ id: 'Projects', description: 'The projects on this machine.' });
export type Projects = z.infer<typeof Projects>;

export const RemoveProject = z
  .object({ path })
  .meta({ id: 'RemoveProject', description: 'A project.', examples: [{ path: exampleFile.path }] });

export const RemovedProject = z
  .object({
    servers: z.array(z.object({ ...OwnedWorkload.shape, problem })),
    kept_secrets: z.array(z.string()).meta({ description: 'The secrets of the project, which stay.' }),
  })
  .meta({ id: 'RemovedProject', description: 'The removed workloads.' });
export type RemovedProject = z.infer<typeof RemovedProject>;

export const ExportProject = z
  .object({
    names: z.array(WorkloadName).max(1000).optional().meta({
      description: 'The workloads. By default, all, or all of the group.',
    }),
    group: z.string().max(100).optional(),
    directory: z.string().max(4096).optional().meta({
      description: 'The directory of the project. Paths in it become relative.',
    }),
  })
  .meta({ id: 'ExportProject', description: 'Workloads to export.', examples: [{ names: ['time'] }] });
export type ExportProject = z.infer<typeof ExportProject>;

export const ExportedProject = z
  .object({
    document: z.string().meta({ description: 'The project file, as YAML.' }),
    notes: z.array(z.string()).meta({ description: 'The settings that the file does not contain.' }),
  })
  .meta({ id: 'ExportedProject', description: 'A project file.' });
export type ExportedProject = z.infer<typeof ExportedProject>;
