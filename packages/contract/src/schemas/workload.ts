import * as z from 'zod';
import { Argument, Environment, GroupName, PortOrAny, WorkloadName, sessionKinds } from './names.ts';
import { AuditConfig, IgnoreConfig, TelemetryConfig } from './observation.ts';
import { PermissionProfile } from './permission-profile.ts';
import { Provenance } from './provenance.ts';
import { RegistryHeader } from './registry.ts';
import { Risk } from './risk.ts';
import { ResourceLimits, ResourceRequest } from './resources.ts';
import { ToolPinningMode } from './tool-pins.ts';

/** How a server talks: over its standard input and output, or over HTTP in one of two ways. */
export const Transport = z
  .enum(['stdio', 'sse', 'streamable-http', 'inspector'])
  .meta({ id: 'Transport', description: 'How a server talks.' });
export type Transport = z.infer<typeof Transport>;

/** Which endpoint the URL of a workload names. Both are always served. */
export const ProxyMode = z.enum(['sse', 'streamable-http']).meta({
  id: 'ProxyMode',
  description: 'The endpoint in the workload URL; streamable-http by default. The proxy serves both.',
});
export type ProxyMode = z.infer<typeof ProxyMode>;

export const Sessions = z.enum(sessionKinds).meta({
  id: 'Sessions',
  description:
    'own: the session of a legacy client has a server process of its own, as if it had started it itself. shared: all clients share one, which suits servers that remember nothing of a client and ask it nothing.',
});
export type Sessions = z.infer<typeof Sessions>;

export const WorkloadStatus = z
  .enum(['running', 'stopped', 'error', 'starting', 'stopping', 'unhealthy', 'removing', 'unknown'])
  .meta({ id: 'WorkloadStatus', description: 'What a workload is doing.' });
export type WorkloadStatus = z.infer<typeof WorkloadStatus>;

/** A stored secret, and the environment variable of the server that receives it. */
const SecretReference = z
  .object({
    name: z.string().min(1).max(256).meta({ description: 'The name of a stored secret.' }),
    target: z
      .string()
      .max(256)
      // Shells drop every other name, and a shell may have to hand it over.
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not a name for an environment variable that holds a secret')
      .meta({ description: 'The environment variable that receives it.' }),
  })
  .meta({
    id: 'SecretReference',
    description: 'A stored secret, and where it goes.',
    examples: [{ name: 'github-token', target: 'GITHUB_PERSONAL_ACCESS_TOKEN' }],
  });

const ToolOverride = z
  .object({ name: z.string().max(256).optional(), description: z.string().optional() })
  .meta({ id: 'ToolOverride', description: 'What a tool is called and how it is described instead.' });

/** Which tokens the proxy of a workload accepts. */
const OidcOptions = z
  .object({
    issuer: z.string().optional(),
    audience: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: z.string().optional().meta({
      description:
        'It is stored as a secret. A reference to a stored secret, NAME,target=oidc_secret, is accepted too.',
    }),
    introspection_url: z.string().optional(),
    jwks_url: z.string().optional(),
    resource_url: z.string().optional(),
    ca_bundle: z
      .string()
      .optional()
      .meta({ description: 'The path of a file on the machine of the daemon.' }),
    auth_token_file: z
      .string()
      .optional()
      .meta({ description: 'The path of a file on the machine of the daemon.' }),
    allow_private_ip: z.boolean().optional(),
    insecure_allow_http: z.boolean().optional(),
    scopes: z.array(z.string()).nullish().meta({ description: 'The scopes that every token must have.' }),
    tool_scopes: z
      .record(z.string(), z.array(z.string()))
      .nullish()
      .meta({
        description: 'The further scopes that calls of a tool need, by the name of the tool.',
        examples: [{ delete_file: ['files:write'] }],
      }),
  })
  .meta({ id: 'OidcOptions', description: 'Which tokens the proxy of a workload accepts.' });

/** How to sign in to a remote server. */
const RemoteOAuth = z
  .object({
    issuer: z.string().optional(),
    authorize_url: z.string().optional(),
    token_url: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: SecretReference.nullish(),
    scopes: z.array(z.string()).nullish(),
    use_pkce: z.boolean().optional(),
    skip_browser: z.boolean().optional(),
    callback_port: PortOrAny.optional(),
    timeout: z.string().max(50).optional().meta({ description: 'How long somebody may take, such as 5m.' }),
    oauth_params: z.record(z.string(), z.string()).nullish(),
  })
  .meta({ id: 'RemoteOAuth', description: 'How to sign in to a remote server.' });

/** How the token of a caller is traded for one that the server takes (RFC 8693). */
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
  .meta({ id: 'TokenExchange', description: 'How tokens of callers are traded (RFC 8693).' });

/** A label as Kubernetes takes it, so that whatever runs the server can carry it. */
const Labels = z
  .record(
    z
      .string()
      .max(317)
      .regex(
        /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/,
        'not the key of a label',
      ),
    z.string().regex(/^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/, 'not the value of a label'),
  )
  .refine(
    (labels) => Object.keys(labels).every((key) => !/^toolhive($|-)/.test(key)),
    'labels that begin with toolhive are those of ToolHive',
  );

/** How a workload is asked for. Everything but the source has a default. */
export const CreateWorkload = z
  .object({
    schema_version: z.undefined().optional().meta({
      not: {},
      description: 'Absent here: a body that has it is a run config.',
    }),
    name: WorkloadName.optional().meta({ description: 'Unique; derived from the source when absent.' }),
    image: z
      .string()
      .max(4096)
      .optional()
      .meta({
        description:
          'What to run: the name of a registry entry, a container image, or a package as npx://, uvx:// or go://, followed by its name or by the absolute path of a directory or file of this machine.',
        examples: [
          'filesystem',
          'npx://@modelcontextprotocol/server-everything',
          'ghcr.io/example/server:1.2.0',
        ],
      }),
    registry_group: GroupName.optional().meta({
      description:
        'The group of the registry that has the entry of that name; entries of groups stand apart.',
    }),
    url: z
      .string()
      .max(2048)
      .optional()
      .meta({ description: 'The URL of a remote server, instead of an image.' }),
    host: z
      .string()
      .max(253)
      .optional()
      .meta({ description: 'The address that the proxy binds to; loopback by default.' }),
    insecure_no_auth: z.boolean().optional().meta({
      description:
        'Lets other machines use the workload without authentication; a host beyond this machine needs it.',
    }),
    transport: z
      .string()
      .optional()
      .meta({ description: 'How the server talks; the registry knows, else stdio.' }),
    proxy_mode: z.string().optional().meta({
      description: 'The endpoint in the workload URL; streamable-http by default. The proxy serves both.',
    }),
    proxy_port: PortOrAny.optional().meta({ description: 'The port of the proxy; 0 chooses a free one.' }),
    target_port: PortOrAny.optional().meta({
      description: 'The port that an HTTP server listens on, seen from inside.',
    }),
    target_host: z
      .string()
      .max(253)
      .optional()
      .meta({ description: 'Where else than here the server listens.' }),
    group: GroupName.optional(),
    labels: Labels.nullish().meta({ description: 'Words of your own to find it by.' }),
    cmd_arguments: z
      .array(Argument)
      .nullish()
      .meta({ description: 'Arguments for the server; they replace those of the registry entry.' }),
    env_vars: Environment.nullish(),
    secrets: z.array(SecretReference).nullish(),
    volumes: z
      .array(z.string())
      .nullish()
      .meta({ description: 'Files and folders to share, as HOST:CONTAINER or HOST:CONTAINER:ro.' }),
    python_with: z
      .array(z.string().max(256))
      .max(100)
      .nullish()
      .meta({
        description: 'Further Python packages to install with a uvx:// package.',
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
      description: 'What the server may use of the machine. A registry entry cannot change that.',
    }),
    sessions: Sessions.optional().meta({ description: 'The registry knows, else own.' }),
    tools: z
      .array(z.string().min(1).max(256))
      .nullish()
      .meta({ description: 'Only these tools are offered, by the names that clients see.' }),
    tools_override: z
      .record(z.string(), ToolOverride)
      .nullish()
      .meta({ description: 'By the name that the server gives a tool: what clients see instead.' }),
    tool_pinning: ToolPinningMode.optional(),
    network_isolation: z
      .boolean()
      .optional()
      .meta({ description: 'Enforce the network rules of the profile.' }),
    trust_proxy_headers: z.boolean().optional(),
    permission_profile: PermissionProfile.nullish(),
    network_mode: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'The network mode of the profile, whichever that is.' }),
    accepted_risks: z
      .array(Risk)
      .nullish()
      .meta({
        description:
          'The dangerous access that the user has accepted. A request for dangerous access is refused without it. What the workload has already needs no consent.',
        examples: [['mount-home']],
      }),
    learn: z.boolean().optional().meta({
      description:
        'Begin in learning mode: every public host is allowed and recorded, until a profile is generated from the record.',
    }),
    ignore_config: IgnoreConfig.nullish(),
    image_verification: z.enum(['warn', 'enabled', 'disabled']).optional().meta({
      description:
        'warn, the default: the signature of an image is verified as its registry entry says, and the result is shown. enabled: an image without a verified signature is refused. disabled: no signature is looked up.',
    }),
    ca_certificate: z
      .string()
      .max(1_000_000)
      .optional()
      .meta({ description: 'A PEM certificate that is trusted while a package is made ready.' }),
    authz_config: z.string().optional().meta({
      description:
        'The path of a file with authorization policies on the machine of the daemon, or the policies themselves, as JSON.',
    }),
    audit_config: AuditConfig.nullish(),
    telemetry_config: TelemetryConfig.nullish(),
    k8s_pod_template_patch: z.string().max(1_000_000).optional(),
    oidc: OidcOptions.nullish(),
    token_exchange: TokenExchange.nullish(),
    oauth_config: RemoteOAuth.nullish(),
    headers: z.array(RegistryHeader).nullish(),
  })
  .meta({
    id: 'CreateWorkload',
    description: 'How a workload is asked for.',
    examples: [
      { image: 'filesystem', volumes: ['/home/ada/notes:/projects/notes:ro'] },
      { name: 'everything', image: 'npx://@modelcontextprotocol/server-everything' },
    ],
  });
export type CreateWorkload = z.infer<typeof CreateWorkload>;

export const CreatedWorkload = z
  .object({
    name: z.string().meta({ description: 'The name to use in every other call.' }),
    port: z.int().meta({ description: 'The port of its proxy.' }),
  })
  .meta({
    id: 'CreatedWorkload',
    description: 'What became of a request for a workload.',
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

/** A workload as it stands. */
export const Workload = z
  .object({
    name: z.string(),
    package: z.string().meta({ description: 'The image or package that runs, pinned to its version.' }),
    url: z.string().meta({ description: 'Where clients reach it; empty when it cannot be reached.' }),
    port: z.int().meta({ description: 'The port of its proxy; 0 when it has none.' }),
    tool_type: z.literal('mcp'),
    transport_type: Transport,
    proxy_mode: ProxyMode,
    status: WorkloadStatus,
    status_context: z
      .string()
      .optional()
      .meta({ description: 'Why the status is what it is, for a person.' }),
    created_at: z.string().meta({ description: 'RFC 3339.', format: 'date-time' }),
    labels: z.record(z.string(), z.string()).optional(),
    group: z.string(),
    tools: z.array(z.string()).optional().meta({ description: 'The tool filter, if there is one.' }),
    remote: z.boolean(),
    sign_in: RequiredSignIn.optional().meta({
      description:
        'Present while the remote server requires the user to sign in. `POST /workloads/{name}/sign-in` starts the sign-in.',
    }),
    protocol: z.enum(['legacy', 'modern']).optional().meta({
      description:
        'How the server talks, once that is known: with a handshake (MCP 2025-11-25 and earlier), or without (2026-07-28). Clients of both can use it either way.',
    }),
    runtime: z.string().optional().meta({ description: 'Which runtime it runs in.' }),
    resources: ResourceLimits.optional().meta({
      description: 'What the server may use of the machine; absent for remote servers.',
    }),
    warnings: z
      .array(z.string())
      .optional()
      .meta({ description: 'What of its permission profile is not enforced, and other things to know.' }),
    limits: z.array(z.string()).optional().meta({
      description:
        'The warnings that hold for all such workloads on this machine; a client can show them once.',
    }),
  })
  .meta({ id: 'Workload', description: 'A workload as it stands.' });
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

/** A workload with everything that it was asked for. */
export const WorkloadDetails = z
  .object({
    ...Workload.omit({ url: true, tools: true }).shape,
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
      registry_group: true,
      proxy_mode: true,
      resources: true,
      accepted_risks: true,
    }).shape,
  })
  .meta({
    id: 'WorkloadDetails',
    description: 'A workload with everything that it was asked for. It is taken back by an edit as it is.',
  });
export type WorkloadDetails = z.infer<typeof WorkloadDetails>;

/** Several workloads at once: named one by one, or all of a group. */
export const WorkloadSelection = z
  .object({
    names: z.array(WorkloadName).max(10_000).nullish().meta({ description: 'The workloads, by name.' }),
    group: z.string().max(100).optional().meta({ description: 'The group whose workloads are meant.' }),
  })
  .meta({
    id: 'WorkloadSelection',
    description: 'Several workloads at once: named one by one, or all of a group. Never both.',
    examples: [{ names: ['filesystem', 'fetch'] }, { group: 'research' }],
  });
export type WorkloadSelection = z.infer<typeof WorkloadSelection>;
