import * as z from 'zod';

/**
 * A server in the MCP registry's format (`server.json`), with the schema of 2025-12-11. Earlier schemas are also
 * supported.
 */

/** What fields were called before they got their present names. */
const formerNames: Record<string, string> = {
  registry_type: 'registryType',
  registry_name: 'registryType',
  registry_base_url: 'registryBaseUrl',
  runtime_arguments: 'runtimeArguments',
  package_arguments: 'packageArguments',
  environment_variables: 'environmentVariables',
  transport_type: 'type',
  file_sha256: 'fileSha256',
  is_required: 'isRequired',
  is_secret: 'isSecret',
  value_hint: 'valueHint',
  website_url: 'websiteUrl',
  version_detail: 'versionDetail',
};

function current<T extends z.ZodType>(schema: T) {
  return z.preprocess(withCurrentNames, schema);
}

function withCurrentNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => [Object.hasOwn(formerNames, name) ? formerNames[name] : name, inner]),
  );
}

/** Values are strings, but some authors write numbers. */
const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const inputFields = {
  description: z.string().optional(),
  isRequired: z.boolean().default(false),
  isSecret: z.boolean().default(false),
  value: Text.optional(),
  default: Text.optional(),
  placeholder: z.string().optional(),
  choices: z.array(Text).optional(),
};

const Variable = current(z.object(inputFields));
const Variables = z.record(z.string(), Variable).default({});
export type Variables = z.infer<typeof Variables>;

/** Something that has a value, or that the user gives one. */
const Input = z.object({ ...inputFields, variables: Variables });
export type Input = z.infer<typeof Input>;

const NamedInput = current(Input.extend({ name: z.string() }));
export type NamedInput = z.infer<typeof NamedInput>;

const Argument = current(
  Input.extend({ type: z.string(), name: z.string().optional(), valueHint: z.string().optional() }),
);
export type Argument = z.infer<typeof Argument>;

const Transport = current(z.object({ type: z.string(), url: z.string().optional() }));

const Package = z.preprocess(
  (value) => {
    const named = withCurrentNames(value);
    return typeof named === 'object' && named !== null && 'name' in named
      ? { identifier: named.name, ...named }
      : named;
  },
  z.object({
    registryType: z.string(),
    identifier: z.string(),
    version: z.string().optional(),
    registryBaseUrl: z.string().optional(),
    fileSha256: z.string().optional(),
    transport: Transport.optional(),
    runtimeArguments: z.array(Argument).default([]),
    packageArguments: z.array(Argument).default([]),
    environmentVariables: z.array(NamedInput).default([]),
  }),
);
export type Package = z.infer<typeof Package>;

const Remote = current(
  z.object({
    type: z.string(),
    url: z.string(),
    headers: z.array(NamedInput).default([]),
    variables: Variables,
  }),
);
export type Remote = z.infer<typeof Remote>;

export const ServerJson = current(
  z.object({
    name: z.string().min(1).max(200),
    description: z.string().default(''),
    title: z.string().optional(),
    version: z.string().optional(),
    versionDetail: z.object({ version: z.string() }).optional(),
    status: z.string().optional(),
    repository: z.object({ url: z.string() }).optional().catch(undefined),
    websiteUrl: z.string().optional(),
    packages: z.array(Package).default([]),
    remotes: z.array(Remote).default([]),
  }),
);
export type ServerJson = z.infer<typeof ServerJson>;
