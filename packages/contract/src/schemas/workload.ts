import { UserConfig } from './bundle.ts';
import * as z from 'zod';
import {
  Argument,
  Environment,
  GroupName,
  LocalPorts,
  PublishedPorts,
  PortOrAny,
  WorkloadName,
  sessionKinds,
  WebOrigins,
} from './names.ts';
import { HeaderForward } from './header-forward.ts';
import { AuditConfig, IgnoreConfig, TelemetryConfig } from './observation.ts';
import { PermissionProfile } from './permission-profile.ts';
import { PrereleaseMode } from './prerelease.ts';
import { ImageVerification, Provenance } from './provenance.ts';
import { RegistryHeader } from './registry.ts';
import { Risk } from './risk.ts';
import { ResourceLimits, ResourceRequest } from './resources.ts';
import { ToolPinningMode } from './tool-pins.ts';

/** The transport of a server: standard input and output, or HTTP in one of two forms. */
export const Transport = z
  .enum(['stdio', 'sse', 'streamable-http', 'inspector'])
  .meta({ id: 'Transport', description: 'The transport of a server.' });
export type Transport = z.infer<typeof Transport>;

/** The endpoint in the workload URL. The proxy always serves both. */
export const ProxyMode = z.enum(['sse', 'streamable-http']).meta({
  id: 'ProxyMode',
  description: 'The endpoint in the workload URL, streamable-http by default. The proxy serves both.',
});
export type ProxyMode = z.infer<typeof ProxyMode>;

export const Sessions = z.enum(['auto', ...sessionKinds]).meta({
  id: 'Sessions',
  description:
    'auto: as own, but sessions of the same client and user share a process while all tools of the server are declared as read-only and nothing shows that the server keeps something for a session. own: each session of a legacy client has a separate server process. shared: all clients share one process, which is suitable for servers that store no client state and send no requests to clients.',
});
export type Sessions = z.infer<typeof Sessions>;

export const WorkloadStatus = z
  .enum(['running', 'stopped', 'error', 'starting', 'stopping', 'unhealthy', 'removing', 'unknown'])
  .meta({ id: 'WorkloadStatus', description: 'A workload status.' });
export type WorkloadStatus = z.infer<typeof WorkloadStatus>;

/** A stored secret, and the environment variable of the server that receives it. */
const SecretReference = z
  .object({
    name: z.string().min(1).max(256).meta({ description: 'The name of a stored secret.' }),
    target: z
      .string()
      .max(256)
      // Shells drop all other names, and a shell can be between ToolHive and the server.
      .regex(
        /^(?:[A-Za-z_][A-Za-z0-9_]*|user_config\.[A-Za-z_][A-Za-z0-9_-]*)$/,
        'invalid environment variable name for a secret: use letters, digits, and underscores',
      )
      .meta({
        description:
          'The environment variable that receives the secret, or user_config.KEY for the field of a bundle.',
      }),
  })
  .meta({
    id: 'SecretReference',
    description: 'A stored secret, and the environment variable that receives the secret.',
    examples: [{ name: 'github-token', target: 'GITHUB_PERSONAL_ACCESS_TOKEN' }],
  });

const ToolOverride = z
  .object({ name: z.string().max(256).optional(), description: z.string().optional() })
  .meta({ id: 'ToolOverride', description: 'The new name and the new description of a tool.' });

/** The tokens that a workload proxy accepts. */
const OidcOptions = z
  .object({
    issuer: z.string().optional(),
    audience: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: z.string().optional().meta({
      description:
        'The client secret, which ToolHive stores as a secret, or a reference to a stored secret: NAME,target=oidc_secret.',
    }),
    introspection_url: z.string().optional(),
    jwks_url: z.string().optional(),
    resource_url: z.string().optional(),
    ca_bundle: z.string().optional().meta({ description: 'A file path on the machine of the daemon.' }),
    auth_token_file: z.string().optional().meta({ description: 'A file path on the machine of the daemon.' }),
    allow_private_ip: z.boolean().optional(),
    insecure_allow_http: z.boolean().optional(),
    scopes: z.array(z.string()).nullish().meta({ description: 'The scopes that every token must have.' }),
    tool_scopes: z
      .record(z.string(), z.array(z.string()))
      .nullish()
      .meta({
        description: 'The additional scopes for calls of a tool, by tool name.',
        examples: [{ delete_file: ['files:write'] }],
      }),
  })
  .meta({ id: 'OidcOptions', description: 'The tokens that a workload proxy accepts.' });

/** How to sign in to a remote server. */
const RemoteOAuth = z
  .object({
    issuer: z.string().optional(),
    authorize_url: z.string().optional(),
    token_url: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: SecretReference.nullish(),
    bearer_token: SecretReference.nullish().meta({
      description: 'A stored token for every request, instead of a sign-in.',
    }),
    scopes: z.array(z.string()).nullish(),
    use_pkce: z.boolean().optional(),
    skip_browser: z.boolean().optional(),
    callback_port: PortOrAny.optional(),
    timeout: z
      .string()
      .max(50)
      .optional()
      .meta({ description: 'The time limit for the sign-in, such as 5m.' }),
    oauth_params: z.record(z.string(), z.string()).nullish(),
    resource: z
      .string()
      .max(2000)
      .optional()
      .meta({
        description:
          'The resource indicator to request a token for (RFC 8707), or none for an authorization server that does not support resource indicators. By default, the one in the metadata of the server, or its URL.',
        examples: ['none'],
      }),
  })
  .meta({ id: 'RemoteOAuth', description: 'How to sign in to a remote server.' });

/** The exchange of a client's token for a token of the server (RFC 8693). */
const TokenExchange = z
  .object({
    token_url: z.string().optional(),
    audience: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: SecretReference.nullish(),
    scopes: z.array(z.string()).nullish(),
    subject_token_type: z.enum(['access_token', 'id_token']).optional(),
    header_name: z.string().optional(),
  })
  .meta({
    id: 'TokenExchange',
    description: "The exchange of a client's token for a token of the server (RFC 8693).",
  });

/** A label in the syntax of Kubernetes, so that every runtime accepts the label. */
const Labels = z
  .record(
    z
      .string()
      .max(317)
      .regex(
        /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/,
        'invalid label key: use letters, digits, dots, dashes, and underscores',
      ),
    z
      .string()
      .regex(
        /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/,
        'invalid label value: use letters, digits, dots, dashes, and underscores',
      ),
  )
  .refine(
    (labels) => Object.keys(labels).every((key) => !/^toolhive($|-)/.test(key)),
    'labels that start with toolhive are reserved',
  );

/** Clients of the original send an empty text for a group or a name that they leave out. */
const absentIfEmpty = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional()).optional();

/** A request for a workload. All fields except the source have a default. */
export const CreateWorkload = z
  .object({
    schema_version: z.undefined().optional().meta({
      not: {},
      description: 'Always absent. A body with this field is a run config.',
    }),
    name: absentIfEmpty(WorkloadName).meta({
      description: 'The workload name, unique. By default, the name is derived from the source.',
    }),
    image: z
      .string()
      .max(4096)
      .optional()
      .meta({
        description:
          'The server: the name of a registry entry, a container image, or npx://, uvx://, or go:// followed by a package name or by an absolute path on this machine.',
        examples: [
          'filesystem',
          'npx://@modelcontextprotocol/server-everything',
          'ghcr.io/example/server:1.2.0',
        ],
      }),
    server: z.string().max(4096).optional().meta({
      description: 'The name of a registry entry, as clients for later versions of the original send it.',
    }),
    registry: z
      .string()
      .max(256)
      .optional()
      .meta({
        description: 'The registry that contains the entry. There is only one.',
        examples: ['default'],
      }),
    registry_group: GroupName.optional().meta({
      description: 'The registry group that contains the entry. Groups have separate entries.',
    }),
    url: z
      .string()
      .max(2048)
      .optional()
      .meta({ description: 'The URL of a remote server, instead of an image.' }),
    url_variables: z
      .record(z.string().max(100), z.string().max(253))
      .nullish()
      .meta({
        description: 'The variables in the URL of a remote registry entry.',
        examples: [{ tenant: 'acme' }],
      }),
    host: z
      .string()
      .max(253)
      .optional()
      .meta({ description: 'The address that the proxy binds to, loopback by default.' }),
    insecure_no_auth: z.boolean().optional().meta({
      description:
        'Let other machines use the workload without authentication. Required for a non-loopback host without authentication.',
    }),
    transport: z.string().optional().meta({
      description:
        'The transport of the server. By default, the transport of the registry entry, otherwise stdio. For remote servers, sse for a URL that ends with `/sse`, otherwise streamable-http.',
    }),
    proxy_mode: z.string().optional().meta({
      description: 'The endpoint in the workload URL, streamable-http by default. The proxy serves both.',
    }),
    proxy_port: PortOrAny.optional().meta({ description: 'The proxy port. 0 selects a free port.' }),
    target_port: PortOrAny.optional().meta({
      description: 'The port that an HTTP server listens on, inside its sandbox or container.',
    }),
    target_host: z.string().max(253).optional().meta({
      description:
        'The host that an HTTP server listens on: a loopback address (by default) or all addresses.',
    }),
    group: absentIfEmpty(GroupName),
    labels: Labels.nullish().meta({ description: 'Labels for filters.' }),
    cmd_arguments: z
      .array(Argument)
      .nullish()
      .meta({ description: 'The server arguments, which replace the arguments of the registry entry.' }),
    env_vars: Environment.nullish(),
    secrets: z.array(SecretReference).nullish(),
    volumes: z
      .array(z.string())
      .nullish()
      .meta({ description: 'The files and directories to mount, as HOST:CONTAINER or HOST:CONTAINER:ro.' }),
    user_config: UserConfig.nullish(),
    python_with: z
      .array(z.string().max(256))
      .max(100)
      .nullish()
      .meta({
        description: 'Additional Python packages for a uvx:// package.',
        examples: [['mcp<2']],
      }),
    python_version: z
      .string()
      .max(20)
      .optional()
      .meta({
        description: 'The Python version of a uvx:// package.',
        examples: ['3.12'],
      }),
    python_exclude_newer: z
      .string()
      .max(40)
      .optional()
      .meta({
        description:
          'Only Python packages from before the end of this day, so that a uvx:// package gets the dependencies of its time.',
        examples: ['2025-01-31'],
      }),
    python_prerelease: PrereleaseMode.optional().meta({
      description: 'Which pre-releases of Python packages a uvx:// package can have, as uv names them.',
    }),
    allow_scripts: z
      .array(z.string().max(256))
      .max(100)
      .nullish()
      .meta({
        description:
          'The npm packages whose install scripts run, in a sandbox that reaches only the package registry.',
        examples: [['better-sqlite3']],
      }),
    ephemeral: z.boolean().optional().meta({
      description:
        'Delete the home directory of the server whenever the server stops, instead of keeping it until the workload is removed.',
    }),
    resources: ResourceRequest.nullish().meta({
      description: 'Resource limits for the server. A registry entry cannot change the limits.',
    }),
    sessions: Sessions.optional().meta({
      description:
        'By default and with auto, the value of the registry entry. Without a value there, auto. For remote servers, own.',
    }),
    tools: z.array(z.string().min(1).max(256)).nullish().meta({
      description:
        'The tools that clients can use, by the names that clients receive. By default, all tools.',
    }),
    tools_override: z
      .record(z.string(), ToolOverride)
      .nullish()
      .meta({ description: "New names and descriptions, by the server's name of the tool." }),
    tool_pinning: ToolPinningMode.optional(),
    network_isolation: z
      .boolean()
      .optional()
      .meta({ description: 'Enforce the network rules of the profile.' }),
    trust_proxy_headers: z.boolean().optional(),
    allowed_origins: WebOrigins.nullish().meta({
      description:
        'The web pages that can use the workload from a browser (CORS), by their origins. By default, none. A registry entry cannot allow origins.',
      examples: [['http://localhost:6274']],
    }),
    permission_profile: PermissionProfile.nullish(),
    local_ports: LocalPorts.nullish().meta({
      description:
        'The TCP ports of this machine’s loopback address that the server can connect to, at its own localhost. A registry entry cannot grant them.',
      examples: [[5432]],
    }),
    publish: PublishedPorts.nullish().meta({
      description:
        'The server ports that local programs can connect to, as PORT or PORT:SERVER_PORT. ToolHive listens on the loopback address only. A server that signs in through a browser needs the port from its redirect URL. A registry entry cannot publish ports.',
      examples: [['8000']],
    }),
    allow_docker_gateway: z.boolean().nullish().meta({
      description:
        'Not granted, and reported as a warning. Clients for later versions of the original ask for all ports of this machine. Use local_ports instead.',
    }),
    runtime_config: z.looseObject({}).nullish().meta({
      description:
        'Not used, and reported as a warning. Clients for later versions of the original choose the base image for a package.',
    }),
    network_mode: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'The network mode, which replaces the mode of the profile.' }),
    accepted_risks: z
      .array(Risk)
      .nullish()
      .meta({
        description:
          'The dangerous access that the user has accepted. ToolHive refuses all other dangerous access. Access that the workload already has needs no consent.',
        examples: [['mount-home']],
      }),
    learn: z.boolean().optional().meta({
      description:
        'Start in learning mode: ToolHive allows every public host and records the hosts until you generate a profile from the record.',
    }),
    ignore_config: IgnoreConfig.nullish(),
    image_verification: ImageVerification.optional().meta({
      description:
        'warn, the default: ToolHive verifies the image signature that the registry entry requires and shows the result. enabled: ToolHive refuses an image without a verified signature. disabled: no verification.',
    }),
    ca_certificate: z
      .string()
      .max(1_000_000)
      .optional()
      .meta({ description: 'A PEM certificate that ToolHive trusts during the installation of a package.' }),
    authz_config: z.string().optional().meta({
      description:
        'The path of a file with authorization policies on the machine of the daemon, or the policies themselves, as JSON.',
    }),
    audit_config: AuditConfig.nullish(),
    telemetry_config: TelemetryConfig.nullish(),
    k8s_pod_template_patch: z.string().max(1_000_000).optional().meta({
      description:
        'A JSON object that extends the pod template in Kubernetes. It has no effect on this machine.',
    }),
    oidc: OidcOptions.nullish(),
    token_exchange: TokenExchange.nullish(),
    oauth_config: RemoteOAuth.nullish(),
    headers: z.array(RegistryHeader).nullish(),
    header_forward: HeaderForward.nullish(),
  })
  .meta({
    id: 'CreateWorkload',
    description: 'A request for a workload.',
    examples: [
      { image: 'filesystem', volumes: ['/home/ada/notes:/projects/notes:ro'] },
      { name: 'everything', image: 'npx://@modelcontextprotocol/server-everything' },
    ],
  });
export type CreateWorkload = z.infer<typeof CreateWorkload>;

export const CreatedWorkload = z
  .object({
    name: z.string().meta({ description: 'The workload name.' }),
    port: z.int().meta({ description: 'The proxy port.' }),
  })
  .meta({
    id: 'CreatedWorkload',
    description: 'The created workload.',
    examples: [{ name: 'filesystem', port: 18347 }],
  });
export type CreatedWorkload = z.infer<typeof CreatedWorkload>;

/** The sign-in that the remote server of a workload requires. */
export const RequiredSignIn = z
  .object({
    why: z.string().meta({ description: 'Why the user has to sign in.' }),
    url: z.string().optional().meta({
      description: 'The page where the user can sign in, http or https. Absent until a sign-in is started.',
    }),
    scope: z
      .string()
      .optional()
      .meta({ description: 'The scopes that the server asks for, if it names them.' }),
  })
  .meta({ id: 'RequiredSignIn', description: 'The sign-in that a remote server requires.' });
export type RequiredSignIn = z.infer<typeof RequiredSignIn>;

/** What a local server may use, in brief. */
export const WorkloadAccess = z
  .object({
    files: z.enum(['none', 'read', 'write']).meta({ description: 'The access to mounted files.' }),
    network: z.enum(['none', 'hosts', 'public', 'any']).meta({
      description:
        '`none`: no network. `hosts`: only listed hosts. `public`: every public host. `any`: also private addresses, or rules that the runtime does not enforce.',
    }),
    hosts: z.int().optional().meta({ description: 'With `hosts`, the number of listed hosts.' }),
    secrets: z.int().meta({ description: 'The number of secrets that the server receives.' }),
  })
  .meta({ id: 'WorkloadAccess', description: 'What a local server may use, in brief.' });
export type WorkloadAccess = z.infer<typeof WorkloadAccess>;

/** A workload with its current status. */
export const Workload = z
  .object({
    name: z.string(),
    package: z.string().meta({ description: 'The image or package that runs, pinned to its version.' }),
    url: z.string().meta({ description: 'The URL for clients. Empty if clients cannot connect.' }),
    port: z.int().meta({ description: 'The proxy port. 0 without a proxy.' }),
    tool_type: z.literal('mcp'),
    transport_type: Transport,
    proxy_mode: ProxyMode,
    status: WorkloadStatus,
    status_context: z.string().optional().meta({ description: 'The reason for the status, for users.' }),
    created_at: z.string().meta({ description: 'RFC 3339.', format: 'date-time' }),
    labels: z.record(z.string(), z.string()).optional(),
    group: z.string(),
    tools: z.array(z.string()).optional().meta({ description: 'The tool filter, if any.' }),
    remote: z.boolean(),
    sign_in: RequiredSignIn.optional().meta({
      description:
        'Present while the remote server requires the user to sign in. `POST /workloads/{name}/sign-in` starts the sign-in.',
    }),
    protocol: z.enum(['legacy', 'modern']).optional().meta({
      description:
        'The protocol generation of the server, as soon as it is known: legacy (MCP 2025-11-25 and earlier, with a handshake) or modern (2026-07-28). Clients of both generations can use the workload.',
    }),
    session_processes: z.string().optional().meta({
      description:
        'Which sessions share server processes, and why, in one sentence. Present while a local stdio server runs.',
    }),
    runtime: z.string().optional().meta({ description: 'The runtime.' }),
    resources: ResourceLimits.optional().meta({
      description: 'The resource limits. Absent for remote servers.',
    }),
    warnings: z.array(z.string()).optional().meta({
      description: 'Warnings, for example about parts of the permission profile that are not enforced.',
    }),
    limits: z.array(z.string()).optional().meta({
      description: 'Warnings that apply to all such workloads on this machine. A client can show them once.',
    }),
    access: WorkloadAccess.optional().meta({
      description: 'Only in lists. Absent for remote servers, and if the permissions cannot be read.',
    }),
    tool_tokens: z.int().optional().meta({
      description:
        'The estimated tokens of the tools that clients get, as the server describes them. Only in lists, and after the server has listed its tools.',
    }),
    newer_version: z.string().optional().meta({
      description:
        'A newer version that the latest lookup has found, also before a restart of the daemon. Only in lists, which look up nothing.',
    }),
  })
  .meta({ id: 'Workload', description: 'A workload with its current status.' });
export type Workload = z.infer<typeof Workload>;

/** The files that the server of a workload has stored. */
const WorkloadHome = z
  .object({
    path: z.string().meta({
      description: 'The directory on the machine of the daemon, or the volumes of the container engine.',
    }),
    size_bytes: z.int(),
    limit_bytes: z.int().meta({ description: 'ToolHive stops a server that stores more.' }),
  })
  .meta({ id: 'WorkloadHome', description: 'The persistent home directory of a workload.' });

/** A workload with all settings of its request. */
export const WorkloadDetails = z
  .object({
    ...Workload.omit({ url: true, tools: true, access: true, tool_tokens: true, newer_version: true }).shape,
    proxy_url: Workload.shape.url,
    revision: z.string().meta({
      description:
        'Changes whenever the settings of the workload change. In quotes, it is the `ETag` that an edit can name in `If-Match`.',
    }),
    home: WorkloadHome.optional().meta({ description: 'Absent until the server has stored files.' }),
    integrity: z.string().optional().meta({
      description:
        'The hash of the installed package. A version whose hash changes later is not installed again.',
    }),
    published_at: z.string().optional().meta({
      description: 'When the installed version was published, if the package registry says so.',
      format: 'date-time',
    }),
    provenance: Provenance.optional().meta({
      description: 'Absent for local packages, remote servers, and servers whose origin was not examined.',
    }),
    ...CreateWorkload.omit({
      schema_version: true,
      name: true,
      group: true,
      registry: true,
      registry_group: true,
      allow_docker_gateway: true,
      runtime_config: true,
      proxy_mode: true,
      resources: true,
      accepted_risks: true,
    }).shape,
  })
  .meta({
    id: 'WorkloadDetails',
    description:
      'A workload with all settings of its request. You can send the object back unchanged to edit the workload.',
  });
export type WorkloadDetails = z.infer<typeof WorkloadDetails>;

/** Several workloads: a list of names, or all workloads of a group. */
export const WorkloadSelection = z
  .object({
    names: z.array(WorkloadName).max(10_000).nullish().meta({ description: 'The workload names.' }),
    group: z.string().max(100).optional().meta({ description: 'The group of the workloads.' }),
  })
  .meta({
    id: 'WorkloadSelection',
    description: 'Several workloads: a list of names, or all workloads of a group. Never both.',
    examples: [{ names: ['filesystem', 'fetch'] }, { group: 'research' }],
  });
export type WorkloadSelection = z.infer<typeof WorkloadSelection>;
