import * as z from 'zod';
import { reasonOf } from './reason.ts';

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
  transportType: 'type',
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

const Flag = z.preprocess((value) => {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  return word === 'true' ? true : word === 'false' ? false : word;
}, z.boolean().default(false));

/**
 * The items that can be read, and the reasons against the others, which do not concern them. Some authors write a single item
 * instead of a list, or an object with the names of the items.
 */
function items<T extends z.ZodType>(item: T, name: string) {
  return z
    .unknown()
    .optional()
    .transform((value): { usable: z.infer<T>[]; problems: string[] } => {
      const usable: z.infer<T>[] = [];
      const problems: string[] = [];
      for (const each of listIn(value, name)) {
        const parsed = item.safeParse(each);
        if (parsed.success) usable.push(parsed.data);
        else problems.push(reasonOf(parsed.error));
      }
      return { usable, problems };
    });
}

function listIn(value: unknown, name: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return [value].flat();
  const entries = Object.entries(value);
  const areNamed = entries.every(([, inner]) => typeof inner === 'object' && inner !== null);
  return areNamed ? entries.map(([key, inner]) => ({ [name]: key, ...(inner as object) })) : [value];
}

/** A list of named inputs. Some authors write an object from names to values, or only the names. */
function named<T extends z.ZodType>(item: T) {
  return z.preprocess((value) => {
    if (Array.isArray(value))
      return value.map((each: unknown) => (typeof each === 'string' ? { name: each } : each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.entries(value).map(([name, inner]: [string, unknown]) =>
      typeof inner === 'object' && inner !== null ? { name, ...inner } : { name, value: inner ?? undefined },
    );
  }, z.array(item).default([]));
}

const inputFields = {
  description: z.string().optional(),
  format: z.string().toLowerCase().optional().catch(undefined),
  isRequired: Flag,
  isSecret: Flag,
  value: Text.optional(),
  default: Text.optional(),
  placeholder: Text.optional(),
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

/** Some authors write words instead of arguments, or leave out the type, which the name shows. */
const Argument = z.preprocess(
  (value) => {
    const argument = withCurrentNames(typeof value === 'string' ? { type: 'positional', value } : value);
    if (typeof argument !== 'object' || argument === null) return argument;
    return { type: 'name' in argument ? 'named' : 'positional', ...argument };
  },
  Input.extend({ type: z.string(), name: z.string().optional(), valueHint: z.string().optional() }),
);
export type Argument = z.infer<typeof Argument>;

const Transport = z.preprocess(
  (value) => (typeof value === 'string' ? { type: value } : withCurrentNames(value)),
  z.object({ type: z.string(), url: z.string().optional(), variables: Variables }),
);

const Package = z.preprocess(
  (value) => {
    const named = withCurrentNames(value);
    return typeof named === 'object' && named !== null && 'name' in named
      ? { identifier: named.name, ...named }
      : named;
  },
  z.object({
    registryType: z.string(),
    identifier: z.string().trim(),
    version: Text.optional(),
    registryBaseUrl: z.string().optional(),
    fileSha256: z.string().optional(),
    transport: Transport.optional(),
    runtimeArguments: z.array(Argument).default([]),
    packageArguments: z.array(Argument).default([]),
    environmentVariables: named(NamedInput),
  }),
);
export type Package = z.infer<typeof Package>;

const Remote = current(
  z.object({
    type: z.string().optional(),
    url: z.string(),
    headers: named(NamedInput),
    variables: Variables,
  }),
);
export type Remote = z.infer<typeof Remote>;

export const ServerJson = current(
  z.object({
    name: z.string().min(1).max(200),
    description: z.string().default(''),
    title: Text.optional().catch(undefined),
    version: Text.optional(),
    versionDetail: z.object({ version: z.string() }).optional(),
    status: z.string().optional(),
    repository: z.object({ url: z.string() }).optional().catch(undefined),
    websiteUrl: z.string().optional(),
    packages: items(Package, 'identifier'),
    remotes: items(Remote, 'type'),
  }),
);
export type ServerJson = z.infer<typeof ServerJson>;
