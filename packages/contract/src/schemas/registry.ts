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

/** An address that the product itself connects to. What it needs to get in stands elsewhere. */
const HttpUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !hasCredentials(url), 'has a user name or a password in it');

function hasCredentials(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.username !== '' || parsed.password !== '');
}

/** People write `active` as well as `Active`. */
function capitalised(word: unknown): unknown {
  return typeof word === 'string' ? word.replace(/^[a-z]/, (letter) => letter.toUpperCase()) : word;
}

function unique<T extends z.ZodType>(item: T) {
  return z
    .array(item)
    .refine((items) => new Set(items).size === items.length, 'names something twice')
    .meta({ uniqueItems: true });
}

const MountPath = z.string().regex(/^(?:\/[^/\0]+)+\/?$/);
const Host = z
  .string()
  .max(253)
  .regex(/^\.?[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$/)
  .meta({ description: 'A host name; with a leading dot, every host below it.' });

/** A permission profile as authors should write it: the same fields, and nothing else. */
const AuthoredPermissions = z.strictObject({
  name: z.string().optional().meta({ description: 'What the profile is called.' }),
  privileged: z.boolean().default(false).meta({ description: 'Run without any hardening.' }),
  read: unique(MountPath).optional().meta({ description: 'Files and folders that it reads.' }),
  write: unique(MountPath).optional().meta({ description: 'Files and folders that it also changes.' }),
  network: z
    .strictObject({
      mode: z.string().optional().meta({ description: 'A network mode of the container engine.' }),
      outbound: z
        .strictObject({
          insecure_allow_all: z
            .boolean()
            .default(false)
            .meta({ description: 'It reaches whatever it likes.' }),
          allow_host: unique(Host).optional().meta({ description: 'The hosts that it reaches.' }),
          allow_port: unique(Port).optional().meta({ description: 'The ports that it reaches there.' }),
        })
        .optional()
        .meta({ description: 'What it reaches.' }),
      inbound: z
        .strictObject({
          allow_host: unique(Host).optional().meta({ description: 'The host names it is called by.' }),
        })
        .optional()
        .meta({ description: 'Who reaches it.' }),
    })
    .optional()
    .meta({ description: 'What it reaches over the network.' }),
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
 * What the parts of the published schema are called. The API document has parts of the same names, made for readers,
 * so these stand apart from the names that all schemas share.
 */
const authored = z.registry<{ id?: string | undefined }>();

/**
 * The registry format, written once with two strictnesses. *Authors* are held to every rule and told about every
 * unknown key. *Readers* take what others have published: unknown keys are dropped and rules about prose do not
 * matter, but what the product acts on (images, packages, addresses, ports, variables, permissions) has to be right.
 */
function registryFormat(strictness: 'authoring' | 'reading') {
  const isStrict = strictness === 'authoring';

  const Variable = note(
    object({
      name: (isStrict ? z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) : VariableName).describe(
        'What the server calls the variable.',
      ),
      description: orElse(text({ min: 5, max: 200 }), '').describe('What it is for, in a sentence.'),
      required: orElse(z.boolean(), false).describe('The server does not work without it.'),
      secret: z.boolean().default(false).describe("Its value is nobody else's business."),
      default: z.string().optional().describe('The value when none is given.'),
    }),
    { id: 'RegistryVariable', description: 'An environment variable that a server understands.' },
  );

  const Header = note(
    object({
      name: z
        .string()
        .regex(isStrict ? /^[A-Za-z0-9][A-Za-z0-9-]*$/ : /^[\w!#$%&'*+.^`|~-]+$/)
        .describe('The name of the header.'),
      description: orElse(text({ min: 5, max: 200 }), '').describe('What to put into it.'),
      required: orElse(z.boolean(), false).describe('The server refuses requests without it.'),
      secret: z.boolean().default(false).describe("Its value is nobody else's business."),
      default: z.string().optional().describe('The value when none is given.'),
      choices: words(z.string()).optional().describe('The only values that make sense.'),
    }),
    { id: 'RegistryHeader', description: 'A header that goes with every request to a remote server.' },
  );

  const OAuth = note(
    object({
      issuer: HttpUrl.optional().describe('Who issues the tokens; everything else is found out from there.'),
      authorize_url: HttpUrl.optional().describe('Where the user agrees, for issuers that cannot be asked.'),
      token_url: HttpUrl.optional().describe('Where codes become tokens, for issuers that cannot be asked.'),
      client_id: z.string().optional().describe('How the client is registered there, if it has to be.'),
      scopes: z.array(z.string()).optional().describe('What the token should be good for.'),
      use_pkce: z.boolean().default(true).describe('Prove that the code is ours (RFC 7636).'),
      oauth_params: z
        .record(z.string(), z.string())
        .optional()
        .describe('More parameters for the page where the user agrees.'),
      callback_port: Port.optional().describe('The local port that the browser comes back to.'),
    }),
    {
      id: 'RegistryOAuth',
      description:
        'How to sign in to a remote server: an issuer, or both addresses of one that has no discovery.',
    },
  );

  const Popularity = note(
    object({
      stars: orElse(z.int().min(0), 0).describe('How many people have starred the repository.'),
      pulls: orElse(z.int().min(0), 0).describe('How often the image has been pulled.'),
      last_updated: orElse(timestamp(), '').describe('When these numbers were taken.'),
    }),
    { id: 'RegistryMetadata', description: 'How much a server is used.' },
  );

  const Attestation = note(
    object({
      predicate_type: link().optional().describe('What kind of statement is expected.'),
      predicate: z.unknown().optional().describe('What it has to say.'),
    }),
    { id: 'RegistryAttestation', description: 'A signed statement that has to be there.' },
  );

  const Provenance = note(
    object({
      cert_issuer: link().optional().describe('Who vouches for the signer.'),
      repository_uri: link().optional().describe('The repository that the image was built from.'),
      repository_ref: z.string().optional().describe('The branch or tag that it was built from.'),
      runner_environment: z
        .string()
        .optional()
        .describe('The kind of machine that built it, such as github-hosted.'),
      signer_identity: z.string().optional().describe('The workflow or person that signed it.'),
      sigstore_url: z.string().optional().describe('Where the trusted keys come from.'),
      attestation: Attestation.optional(),
    }),
    {
      id: 'RegistryProvenance',
      description: 'What the signature of an image has to say for it to be trusted.',
    },
  );

  const common = {
    name: z.string().optional().describe('The key of the entry; filled in when the registry is read.'),
    description: orElse(text({ min: 10, max: 500 }), '').describe('What the server is good for.'),
    status: (isStrict
      ? z.enum(['Active', 'Deprecated'])
      : z.preprocess(capitalised, z.string().default('Active'))
    ).describe('`Active`, or `Deprecated` when something else should be used.'),
    tier: (isStrict ? z.enum(['Official', 'Community']) : z.string().default('Community')).describe(
      '`Official` when whoever offers the service made the server, else `Community`.',
    ),
    tools: orElse(words(text({ pattern: /^[\w-]+$/ }), { min: 1 }), []).describe('The names of its tools.'),
    tags: words(text({ pattern: /^[a-z0-9][a-z0-9_-]*[a-z0-9]$/ }), { min: 1 })
      .optional()
      .describe('Words to find it by.'),
    env_vars: z.array(Variable).optional().describe('The environment variables that it understands.'),
    metadata: Popularity.optional(),
    repository_url: link().optional().describe('Where its source is.'),
    custom_metadata: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Anything else. The product keeps it and makes nothing of it.'),
  };

  const Package = note(
    object({
      source: z.string().regex(packageUrl).describe('A package as npx://, uvx:// or go://.'),
      args: z.array(Argument).optional().describe('Arguments that the image would supply itself.'),
      allow_scripts: z
        .array(z.string())
        .optional()
        .describe(
          'The npm packages whose install scripts run, in a sandbox that reaches only the package registry.',
        ),
    }),
    { description: 'How to run the same server without a container.' },
  );

  const Server = note(
    object({
      ...common,
      image: (isStrict ? z.string().regex(imageOrPackage) : z.string().min(1)).describe(
        'The container image, with a tag or a digest; or, for a server that has none, a package URL.',
      ),
      package: Package.optional(),
      transport: orElse(z.enum(['stdio', 'sse', 'streamable-http']), 'stdio').describe('How it talks.'),
      target_port: Port.optional().describe('The port it listens on, if it talks HTTP.'),
      sessions: z
        .enum(sessionKinds)
        .optional()
        .describe(
          'Whether the session of a client needs a process of its own; it gets one if nothing is said.',
        ),
      args: z.array(Argument).optional().describe('Its arguments, when the user gives none.'),
      permissions: (isStrict ? AuthoredPermissions : PermissionProfile)
        .optional()
        .describe('What it may touch beyond its own program.'),
      docker_tags: words(z.string()).optional().describe('Tags that its image has.'),
      provenance: Provenance.optional(),
    }),
    { id: 'RegistryServer', description: 'A catalogued server that runs on this machine.' },
  );

  const RemoteServer = note(
    object({
      ...common,
      url: HttpUrl.describe('Where its MCP endpoint is.'),
      transport: orElse(z.enum(['sse', 'streamable-http']), 'sse').describe('How it talks.'),
      headers: z.array(Header).optional().describe('The headers that it wants to see.'),
      oauth_config: OAuth.optional(),
    }),
    { id: 'RegistryRemoteServer', description: 'A catalogued server that somebody else runs.' },
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
      ).describe('What the group is called.'),
      description: orElse(text({ min: 10, max: 500 }), '').describe(
        'What its servers are good for together.',
      ),
      servers: servers.optional().describe('Servers that run on this machine, by name.'),
      remote_servers: remoteServers.optional().describe('Servers that somebody else runs, by name.'),
    }),
    { id: 'RegistryGroup', description: 'Servers that are meant to be run together.' },
  );

  const Root = note(
    (isStrict ? z.looseObject : z.object)({
      version: orElse(text({ pattern: /^\d+\.\d+\.\d+$/ }), '').describe('The version of this list.'),
      last_updated: orElse(timestamp(), '').describe('When this list was last changed.'),
      servers: orElse(servers, {}).describe('Servers that run on this machine, by name.'),
      remote_servers: remoteServers.default({}).describe('Servers that somebody else runs, by name.'),
      groups: z.array(Group).optional().describe('Servers that are meant to be run together.'),
    }),
    {
      id: 'Registry',
      title: 'Registry',
      description: 'A list of servers and how to run them.',
      examples: [example],
    },
  );

  return { Variable, Header, Server, RemoteServer, Group, Root };

  /** Gives a schema its name and its words. */
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

  /** An address that people follow and the product does not. */
  function link() {
    return isStrict ? z.url() : z.string();
  }

  function timestamp() {
    return isStrict ? z.iso.datetime({ offset: true }) : z.string();
  }

  function words(word: z.ZodString, { min = 0 } = {}) {
    return isStrict ? unique(word).min(min) : z.array(z.string());
  }

  /** What authors have to write, and readers can do without. */
  function orElse<T extends z.ZodType>(
    schema: T,
    fallback: z.output<T> & z.core.util.NoUndefined<z.output<T>>,
  ) {
    return isStrict ? schema : schema.default(fallback);
  }
}

/** What a reader takes from others. */
const reading = registryFormat('reading');

/** An environment variable that a server understands. */
export const RegistryVariable = reading.Variable;

/** A header that goes with every request to a remote server. */
export const RegistryHeader = reading.Header;

/** A catalogued server that runs on this machine. */
export const RegistryServer = reading.Server;
export type RegistryServer = z.infer<typeof RegistryServer>;

/** A catalogued server that somebody else runs. */
export const RegistryRemoteServer = reading.RemoteServer;
export type RegistryRemoteServer = z.infer<typeof RegistryRemoteServer>;

/** Whether a search for these words finds a server: they stand in its name, its description or one of its tags. */
export function isAbout(
  { name, description, tags, tools }: RegistryServer | RegistryRemoteServer,
  query: string,
): boolean {
  const texts = [name, description, ...(tags ?? []), ...(tools ?? [])].map(
    (text) => text?.toLowerCase() ?? '',
  );
  const words = query.toLowerCase().split(/\s+/);
  return words.every((word) => texts.some((text) => text.includes(word)));
}

/** Servers that are meant to be run together. */
export const RegistryGroup = reading.Group;
export type RegistryGroup = z.infer<typeof RegistryGroup>;

/** A registry as the product reads it, if nothing about it is wrong; readers look at every entry on its own. */
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
    metadata: words as typeof z.globalRegistry, // it is only asked for the words of one schema after the other
  });
  return { $schema, $id: registrySchemaId, ...schema };
}

const infoFields = {
  name: z.string().meta({ description: 'Always `default`.' }),
  version: z.string().meta({ description: 'The version that the registry gives itself.' }),
  last_updated: z.string().meta({ description: 'When it was changed, as it says itself.' }),
  server_count: z.int().meta({ description: 'How many servers it has that run on this machine.' }),
  type: z.enum(['default', 'url', 'file']).meta({ description: 'What kind of source it comes from.' }),
  source: z.string().meta({ description: 'The address or the path; empty for the one that is built in.' }),
  problem: z
    .string()
    .optional()
    .meta({ description: 'Why the source could not be read just now, or not completely.' }),
  stale: z
    .boolean()
    .optional()
    .meta({ description: 'The source cannot be read just now, and this is what it said last.' }),
  fetched_at: z.iso.datetime().optional().meta({ description: 'When the source last said so.' }),
  skipped: z
    .array(z.object({ name: z.string(), why: z.string() }))
    .optional()
    .meta({ description: 'Entries that are left out because something about them is wrong: the first 100.' }),
  skipped_count: z.int().optional().meta({ description: 'How many entries are left out.' }),
};

/** Where the registry comes from and how it is. */
export const RegistryInfo = z
  .object(infoFields)
  .meta({ id: 'RegistryInfo', description: 'Where a registry comes from and how it is.' });
export type RegistryInfo = z.infer<typeof RegistryInfo>;

/** Every registry; there is exactly one. */
export const Registries = z
  .object({ registries: z.array(RegistryInfo) })
  .meta({ id: 'Registries', description: 'Every registry; there is exactly one.' });
export type Registries = z.infer<typeof Registries>;

/** A registry with all that it holds. */
export const RegistryDetails = z
  .object({ ...infoFields, registry: Registry })
  .meta({ id: 'RegistryDetails', description: 'A registry with all that it holds.' });
export type RegistryDetails = z.infer<typeof RegistryDetails>;

/** Where the registry shall come from. */
export const UpdateRegistry = z
  .object({
    url: z
      .string()
      .optional()
      .meta({
        description:
          'The address of a registry, or of an API that lists servers the way the MCP registry does.',
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
      .meta({ description: 'The address may be a private one, and may be `http`.' }),
  })
  .meta({
    id: 'UpdateRegistry',
    description: 'Where the registry shall come from; with neither address nor path, it is the built-in one.',
    examples: [{ url: 'https://registry.example.com/registry.json' }],
  });
export type UpdateRegistry = z.infer<typeof UpdateRegistry>;

/** Where the registry comes from now. */
export const UpdatedRegistry = z
  .object({
    message: z.string().meta({ description: 'What has been done, in a sentence.' }),
    type: infoFields.type,
  })
  .meta({ id: 'UpdatedRegistry', description: 'Where the registry comes from now.' });
export type UpdatedRegistry = z.infer<typeof UpdatedRegistry>;

/** All entries of a registry. */
export const RegistryServers = z
  .object({
    servers: z.array(RegistryServer),
    remote_servers: z.array(RegistryRemoteServer),
    total: z.int().meta({ description: 'The number of entries on all pages.' }),
  })
  .meta({ id: 'RegistryServers', description: 'Entries of a registry, each with its name.' });
export type RegistryServers = z.infer<typeof RegistryServers>;

/** One entry of a registry, of either kind. */
export const RegistryServerDetails = z
  .object({
    server: RegistryServer.optional(),
    remote_server: RegistryRemoteServer.optional(),
    is_remote: z.boolean().meta({ description: 'Which of the two is there.' }),
  })
  .meta({ id: 'RegistryServerDetails', description: 'One entry of a registry, of either kind.' });
export type RegistryServerDetails = z.infer<typeof RegistryServerDetails>;
