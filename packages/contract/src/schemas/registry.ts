import * as z from 'zod';
import { Argument, GroupName, Port, VariableName, sessionKinds } from './names.ts';
import { PermissionProfile } from './permission-profile.ts';

/** Names the published schema, wherever a copy of it is. */
const registrySchemaId = 'urn:toolhive:registry-schema';

/** A package by the URL scheme of its ecosystem. */
const packageUrl = /^(?:npx|uvx|go):\/\/\S+$/;
const imageReference =
  /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?::[0-9]+)?(?:\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)*(?::[a-zA-Z0-9][a-zA-Z0-9._-]*)?(?:@sha256:[0-9a-f]{64})?$/;
const imageOrPackage = new RegExp(`${packageUrl.source}|${imageReference.source}`);

/** An address that ToolHive itself connects to. Credentials are configured separately. */
const HttpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !hasCredentials(url), 'contains a user name or a password');

/** The variables in a URL: `https://{tenant}.example.com/mcp`. */
export const urlVariable = /\{([\w-]{1,100})\}/g;

/** The same, with variables that the user sets. */
const TemplateUrl = z
  .string()
  .refine((url) => HttpUrl.safeParse(url.replaceAll(urlVariable, '1')).success, 'Invalid URL');

function hasCredentials(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.username !== '' || parsed.password !== '');
}

/** Authors write `active` or `Active`. */
function capitalised(word: unknown): unknown {
  return typeof word === 'string' ? word.replace(/^[a-z]/, (letter) => letter.toUpperCase()) : word;
}

function unique<T extends z.ZodType>(item: T) {
  return z
    .array(item)
    .refine((items) => new Set(items).size === items.length, 'contains a duplicate')
    .meta({ uniqueItems: true });
}

const MountPath = z.string().regex(/^(?:\/[^/\0]+)+\/?$/);
const Host = z
  .string()
  .max(253)
  .regex(/^\.?[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$/)
  .meta({ description: 'A host name. With a leading dot, also every subdomain.' });

/** A permission profile as authors should write it: the same fields, and nothing else. */
const AuthoredPermissions = z.strictObject({
  name: z.string().optional().meta({ description: 'The profile name.' }),
  privileged: z.boolean().default(false).meta({ description: 'Run without any hardening.' }),
  read: unique(MountPath)
    .optional()
    .meta({ description: 'The files and directories that the server can read.' }),
  write: unique(MountPath)
    .optional()
    .meta({ description: 'The files and directories that the server can read and write.' }),
  network: z
    .strictObject({
      mode: z.string().optional().meta({ description: 'A network mode of the container engine.' }),
      outbound: z
        .strictObject({
          insecure_allow_all: z
            .boolean()
            .default(false)
            .meta({ description: 'Allow every public host and port.' }),
          allow_host: unique(Host).optional().meta({ description: 'The allowed hosts.' }),
          allow_port: unique(Port).optional().meta({ description: 'The allowed ports.' }),
        })
        .optional()
        .meta({ description: 'Outbound access.' }),
      inbound: z
        .strictObject({
          allow_host: unique(Host)
            .optional()
            .meta({ description: 'The allowed names in the `Host` header of requests.' }),
        })
        .optional()
        .meta({ description: 'Inbound access.' }),
    })
    .optional()
    .meta({ description: 'Network access.' }),
});

const example = {
  version: '1.0.0',
  last_updated: '2026-01-15T10:30:00Z',
  servers: {
    weather: {
      description: 'Tells the weather of the next days for any place on earth.',
      image: 'ghcr.io/example/weather-mcp:1.2.0',
      package: { source: 'npx://@example/weather-mcp@1.2.0' },
      transport: 'stdio',
      status: 'Active',
      tier: 'Community',
      tools: ['forecast'],
      tags: ['weather'],
      env_vars: [
        { name: 'WEATHER_KEY', description: 'A key for the weather service.', required: true, secret: true },
      ],
      permissions: { network: { outbound: { allow_host: ['api.weather.example'], allow_port: [443] } } },
    },
  },
  remote_servers: {
    'weather-remote': {
      description: 'The same weather, from a server that its makers run.',
      url: 'https://mcp.weather.example/mcp',
      transport: 'streamable-http',
      status: 'Active',
      tier: 'Official',
      tools: ['forecast'],
    },
  },
};

/**
 * The names of the parts of the published schema. The API document has parts with the same names, which are written for
 * readers, so this registry is separate from the global one.
 */
const authored = z.registry<{ id?: string | undefined }>();

/**
 * The registry format, written once for two levels of strictness. *Authors* must follow every rule and get an error for
 * each unknown key. *Readers* accept published registries: unknown keys are dropped and rules about prose do not apply,
 * but every value that ToolHive uses (images, packages, addresses, ports, variables, permissions) must be valid.
 */
function registryFormat(strictness: 'authoring' | 'reading') {
  const isStrict = strictness === 'authoring';

  const Variable = note(
    object({
      name: (isStrict ? z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) : VariableName).describe(
        'The name of the environment variable.',
      ),
      description: orElse(text({ min: 5, max: 200 }), '').describe(
        'The purpose of the variable, in one sentence.',
      ),
      required: orElse(z.boolean(), false).describe('Whether the server requires the variable.'),
      secret: z.boolean().default(false).describe('Whether the value is a secret.'),
      default: z.string().optional().describe('The default value.'),
    }),
    { id: 'RegistryVariable', description: 'A server environment variable.' },
  );

  const Header = note(
    object({
      name: z
        .string()
        .regex(
          isStrict ? /^[A-Za-z0-9][A-Za-z0-9-]*$/ : /^[\w!#$%&'*+.^`|~-]+$/,
          'is not the name of a header',
        )
        .describe('The name of the header.'),
      description: orElse(text({ min: 5, max: 200 }), '').describe(
        'The purpose of the header, in one sentence.',
      ),
      required: orElse(z.boolean(), false).describe('Whether the server requires the header.'),
      secret: z.boolean().default(false).describe('Whether the value is a secret.'),
      default: z.string().optional().describe('The default value.'),
      choices: words(z.string()).optional().describe('The allowed values.'),
    }),
    { id: 'RegistryHeader', description: 'A header that ToolHive adds to every request to a remote server.' },
  );

  const OAuth = note(
    object({
      issuer: HttpUrl.optional().describe(
        'The token issuer. ToolHive discovers all other settings from the issuer.',
      ),
      authorize_url: HttpUrl.optional().describe(
        'The authorization endpoint, for issuers without discovery.',
      ),
      token_url: HttpUrl.optional().describe('The token endpoint, for issuers without discovery.'),
      client_id: z
        .string()
        .optional()
        .describe('The client ID, for issuers that require a registered client.'),
      scopes: z.array(z.string()).optional().describe('The requested scopes.'),
      use_pkce: z.boolean().default(true).describe('Use PKCE (RFC 7636).'),
      oauth_params: z
        .record(z.string(), z.string())
        .optional()
        .describe('Additional parameters for the authorization endpoint.'),
      callback_port: Port.optional().describe('The local port for the redirect from the browser.'),
    }),
    {
      id: 'RegistryOAuth',
      description:
        'How to sign in to a remote server: an issuer, or both endpoints of an issuer without discovery.',
    },
  );

  const Popularity = note(
    object({
      stars: orElse(z.int().min(0), 0).describe('The number of stars of the repository.'),
      pulls: orElse(z.int().min(0), 0).describe('The number of image downloads.'),
      last_updated: orElse(timestamp(), '').describe('The time of these numbers.'),
    }),
    { id: 'RegistryMetadata', description: 'The popularity of a server.' },
  );

  const Attestation = note(
    object({
      predicate_type: link().optional().describe('The expected statement type.'),
      predicate: z.unknown().optional().describe('The expected content.'),
    }),
    { id: 'RegistryAttestation', description: 'A required signed statement.' },
  );

  const Provenance = note(
    object({
      cert_issuer: link().optional().describe('The issuer of the signing certificate.'),
      repository_uri: link().optional().describe('The source repository of the image.'),
      repository_ref: z.string().optional().describe('The branch or tag of the build.'),
      runner_environment: z
        .string()
        .optional()
        .describe('The environment of the build, such as github-hosted.'),
      signer_identity: z.string().optional().describe('The workflow or person that signed the image.'),
      sigstore_url: z.string().optional().describe('The source of the trusted keys.'),
      attestation: Attestation.optional(),
    }),
    {
      id: 'RegistryProvenance',
      description: 'The required signature of an image.',
    },
  );

  const common = {
    name: z
      .string()
      .optional()
      .describe('The key of the entry. ToolHive adds the name when it reads the registry.'),
    description: orElse(text({ min: 10, max: 500 }), '').describe('The purpose of the server.'),
    status: (isStrict
      ? z.enum(['Active', 'Deprecated'])
      : z.preprocess(capitalised, z.string().default('Active'))
    ).describe('`Active`, or `Deprecated` if users should choose another server.'),
    tier: (isStrict ? z.enum(['Official', 'Community']) : z.string().default('Community')).describe(
      '`Official` if the provider of the service maintains the server, otherwise `Community`.',
    ),
    tools: orElse(words(text({ pattern: /^[\w-]+$/ }), { min: 1 }), []).describe('The tool names.'),
    tags: words(text({ pattern: /^[a-z0-9][a-z0-9_-]*[a-z0-9]$/ }), { min: 1 })
      .optional()
      .describe('Search terms.'),
    env_vars: z.array(Variable).optional().describe('The server environment variables.'),
    metadata: Popularity.optional(),
    repository_url: link().optional().describe('The URL of the source repository.'),
    custom_metadata: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Additional data. ToolHive stores this data but does not use it.'),
  };

  const Package = note(
    object({
      source: z
        .string()
        .regex(packageUrl)
        .describe('A package URL with the scheme npx://, uvx://, or go://.'),
      args: z.array(Argument).optional().describe('Arguments that the image already contains.'),
      allow_scripts: z
        .array(z.string())
        .optional()
        .describe(
          'The npm packages whose install scripts run, in a sandbox that reaches only the package registry.',
        ),
    }),
    { description: 'The package that contains the same server, for runtimes without containers.' },
  );

  const Server = note(
    object({
      ...common,
      image: (isStrict ? z.string().regex(imageOrPackage) : z.string().min(1)).describe(
        'The container image with a tag or a digest, or a package URL for a server without an image.',
      ),
      package: Package.optional(),
      transport: orElse(z.enum(['stdio', 'sse', 'streamable-http']), 'stdio').describe('The transport.'),
      target_port: Port.optional().describe('The port that an HTTP server listens on.'),
      sessions: z
        .enum(sessionKinds)
        .optional()
        .describe(
          'Whether each client session requires a separate process (`own`) or all sessions share one (`shared`). By default, ToolHive decides by what the server says and does.',
        ),
      args: z.array(Argument).optional().describe('The default arguments.'),
      permissions: (isStrict ? AuthoredPermissions : PermissionProfile)
        .optional()
        .describe('The permission profile of the server.'),
      docker_tags: words(z.string()).optional().describe('The tags of the image.'),
      provenance: Provenance.optional(),
    }),
    { id: 'RegistryServer', description: 'A server that runs on this machine.' },
  );

  const UrlVariable = note(
    object({
      name: z
        .string()
        .regex(/^[\w-]{1,100}$/)
        .describe('The name of the variable in the URL.'),
      description: orElse(text({ min: 5, max: 200 }), '').describe(
        'The purpose of the variable, in one sentence.',
      ),
      default: z.string().optional().describe('The default value.'),
      choices: words(z.string()).optional().describe('The allowed values.'),
    }),
    { id: 'RegistryUrlVariable', description: 'A part of the URL that the user sets.' },
  );

  const RemoteServer = note(
    object({
      ...common,
      url: TemplateUrl.describe('The URL of the MCP endpoint. A name in braces is one of `url_variables`.'),
      url_variables: z.array(UrlVariable).optional().describe('The parts of the URL that the user sets.'),
      transport: orElse(z.enum(['sse', 'streamable-http']), 'sse').describe('The transport.'),
      headers: z.array(Header).optional().describe('The headers of each request.'),
      oauth_config: OAuth.optional(),
    }),
    { id: 'RegistryRemoteServer', description: 'A server that another party runs.' },
  );

  const key = isStrict ? z.string().regex(/^[a-z0-9][a-z0-9-]+[a-z0-9]$/) : z.string();
  const servers = z.record(key, Server);
  const remoteServers = z.record(key, RemoteServer);

  const Group = note(
    object({
      name: (isStrict
        ? z
            .string()
            .max(100)
            .regex(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/)
        : GroupName
      ).describe('The group name.'),
      description: orElse(text({ min: 10, max: 500 }), '').describe('The purpose of the group.'),
      servers: servers.optional().describe('Servers that run on this machine, by name.'),
      remote_servers: remoteServers.optional().describe('Remote servers, by name.'),
    }),
    { id: 'RegistryGroup', description: 'Servers for one purpose.' },
  );

  const Root = note(
    (isStrict ? z.looseObject : z.object)({
      version: orElse(text({ pattern: /^\d+\.\d+\.\d+$/ }), '').describe('The version of the registry.'),
      last_updated: orElse(timestamp(), '').describe('The time of the last change.'),
      servers: orElse(servers, {}).describe('Servers that run on this machine, by name.'),
      remote_servers: remoteServers.default({}).describe('Remote servers, by name.'),
      groups: z.array(Group).optional().describe('Servers for one purpose.'),
    }),
    {
      id: 'Registry',
      title: 'Registry',
      description: 'A catalog of MCP servers.',
      examples: [example],
    },
  );

  return { Variable, Header, Server, RemoteServer, Group, Root };

  /** Adds the name and the description to a schema. */
  function note<T extends z.ZodType>(schema: T, meta: z.GlobalMeta): T {
    if (!isStrict) return schema.meta(meta);
    const { id, ...words } = meta;
    const noted = schema.meta(words);
    authored.add(noted, { id });
    return noted;
  }

  function object<S extends z.ZodRawShape>(shape: S): z.ZodObject<S> {
    return isStrict ? z.strictObject(shape) : z.object(shape);
  }

  function text({ min = 0, max = 10_000, pattern }: { min?: number; max?: number; pattern?: RegExp }) {
    if (!isStrict) return z.string();
    return pattern === undefined ? z.string().min(min).max(max) : z.string().regex(pattern);
  }

  /** An address for readers. ToolHive does not connect to this address. */
  function link() {
    return isStrict ? z.url() : z.string();
  }

  function timestamp() {
    return isStrict ? z.iso.datetime({ offset: true }) : z.string();
  }

  function words(word: z.ZodString, { min = 0 } = {}) {
    return isStrict ? unique(word).min(min) : z.array(z.string());
  }

  /** A value that authors must write and that has a default for readers. */
  function orElse<T extends z.ZodType>(
    schema: T,
    fallback: z.output<T> & z.core.util.NoUndefined<z.output<T>>,
  ) {
    return isStrict ? schema : schema.default(fallback);
  }
}

/** The format that readers accept. */
const reading = registryFormat('reading');

/** An environment variable of a server. */
export const RegistryVariable = reading.Variable;

/** A header of every request to a remote server. */
export const RegistryHeader = reading.Header;

/** A registry entry of a server that runs on this machine. */
export const RegistryServer = reading.Server;
export type RegistryServer = z.infer<typeof RegistryServer>;

/** A registry entry of a remote server. */
export const RegistryRemoteServer = reading.RemoteServer;
export type RegistryRemoteServer = z.infer<typeof RegistryRemoteServer>;

/** Servers for one purpose. */
export const RegistryGroup = reading.Group;
export type RegistryGroup = z.infer<typeof RegistryGroup>;

/** A valid registry as ToolHive reads it. Readers check each entry separately. */
export const Registry = reading.Root;
export type Registry = z.infer<typeof Registry>;

/** A registry as authors should write it. */
export const AuthoredRegistry = registryFormat('authoring').Root;

/** The published JSON Schema of the registry format. */
export function registryJsonSchema(): object {
  const words = {
    get: (schema: z.ZodType) => ({ ...z.globalRegistry.get(schema), ...authored.get(schema) }),
  };
  const { $schema, ...schema } = z.toJSONSchema(AuthoredRegistry, {
    io: 'input',
    metadata: words as typeof z.globalRegistry, // only the metadata of one schema is read at a time
  });
  return { $schema, $id: registrySchemaId, ...schema };
}

const infoFields = {
  name: z.string().meta({ description: 'Always `default`.' }),
  version: z.string().meta({ description: 'The registry version.' }),
  last_updated: z.string().meta({ description: 'The time of the last change, from the registry.' }),
  server_count: z.int().meta({ description: 'The number of servers that run on this machine.' }),
  type: z.enum(['default', 'url', 'file']).meta({ description: 'The source type.' }),
  source: z.string().meta({ description: 'The URL or the path. Empty for the built-in registry.' }),
  problem: z
    .string()
    .optional()
    .meta({ description: 'The reason why the source, or a part of the source, could not be read.' }),
  stale: z
    .boolean()
    .optional()
    .meta({ description: 'Whether this is an earlier copy, because the source could not be read.' }),
  fetched_at: z.iso.datetime().optional().meta({ description: 'The time of the last successful read.' }),
  skipped: z
    .array(z.object({ name: z.string(), why: z.string() }))
    .optional()
    .meta({ description: 'The first 100 skipped entries. Invalid entries are skipped.' }),
  skipped_count: z.int().optional().meta({ description: 'The number of skipped entries.' }),
};

/** The source and the state of a registry. */
export const RegistryInfo = z
  .object(infoFields)
  .meta({ id: 'RegistryInfo', description: 'The source and the state of a registry.' });
export type RegistryInfo = z.infer<typeof RegistryInfo>;

/** All registries. There is exactly one. */
export const Registries = z
  .object({ registries: z.array(RegistryInfo) })
  .meta({ id: 'Registries', description: 'All registries. There is exactly one.' });
export type Registries = z.infer<typeof Registries>;

/** A registry with all entries. */
export const RegistryDetails = z
  .object({ ...infoFields, registry: Registry })
  .meta({ id: 'RegistryDetails', description: 'A registry with all entries.' });
export type RegistryDetails = z.infer<typeof RegistryDetails>;

/** The new source of the registry. */
export const UpdateRegistry = z
  .object({
    url: z
      .string()
      .optional()
      .meta({
        description: 'The URL of a registry, or of an API that is compatible with the MCP registry API.',
        examples: ['https://registry.example.com/registry.json'],
      }),
    local_path: z
      .string()
      .optional()
      .meta({
        description: 'The path of a `.json` file on the machine of the daemon.',
        examples: ['/home/me/registry.json'],
      }),
    allow_private_ip: z
      .boolean()
      .optional()
      .meta({ description: 'Allow private addresses and `http` URLs.' }),
  })
  .meta({
    id: 'UpdateRegistry',
    description: 'The new source of the registry. Without a URL and a path, the built-in registry.',
    examples: [{ url: 'https://registry.example.com/registry.json' }],
  });
export type UpdateRegistry = z.infer<typeof UpdateRegistry>;

/** The result of a change of the source. */
export const UpdatedRegistry = z
  .object({
    message: z.string().meta({ description: 'The result, in one sentence.' }),
    type: infoFields.type,
  })
  .meta({ id: 'UpdatedRegistry', description: 'The result of a change of the source.' });
export type UpdatedRegistry = z.infer<typeof UpdatedRegistry>;

/** Registry entries. */
export const RegistryServers = z
  .object({
    servers: z.array(RegistryServer),
    remote_servers: z.array(RegistryRemoteServer),
    total: z.int().meta({ description: 'The number of entries on all pages.' }),
    ranking: z.array(z.string()).optional().meta({
      description: 'With a search, the names of the servers on this page, the best match first.',
    }),
  })
  .meta({ id: 'RegistryServers', description: 'Registry entries with their names.' });
export type RegistryServers = z.infer<typeof RegistryServers>;

/** A registry entry, local or remote. */
export const RegistryServerDetails = z
  .object({
    server: RegistryServer.optional(),
    remote_server: RegistryRemoteServer.optional(),
    is_remote: z.boolean().meta({ description: 'Whether the entry is a remote server.' }),
  })
  .meta({ id: 'RegistryServerDetails', description: 'A registry entry, local or remote.' });
export type RegistryServerDetails = z.infer<typeof RegistryServerDetails>;
