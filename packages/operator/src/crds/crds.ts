import { stringify } from 'yaml';
import * as z from 'zod';
import { addLaterFields } from './later-fields.ts';
import { mcpExternalAuthConfig } from './mcp-external-auth-config.ts';
import { mcpGroup } from './mcp-group.ts';
import { mcpRegistry } from './mcp-registry.ts';
import { mcpRemoteProxy } from './mcp-remote-proxy.ts';
import { mcpServer } from './mcp-server.ts';
import { mcpToolConfig } from './mcp-tool-config.ts';
import { apiGroup, apiVersion, category } from './resource.ts';
import type { Resource } from './resource.ts';

/** Every custom resource, in the order of the reference. */
export const resources: readonly Resource[] = [
  mcpServer,
  mcpRemoteProxy,
  mcpToolConfig,
  mcpExternalAuthConfig,
  mcpGroup,
  mcpRegistry,
];

/** The CustomResourceDefinition of each kind as YAML, by the name of its file. */
export function crdFiles(): Record<string, string> {
  return Object.fromEntries(
    resources.map((resource) => [
      `${apiGroup}_${resource.plural}.yaml`,
      stringify(crdOf(resource), { lineWidth: 0, aliasDuplicateObjects: false }),
    ]),
  );
}

/** A custom resource's CustomResourceDefinition, in the API server's format. */
export function crdOf(resource: Resource): object {
  const { kind, singular, plural, shortNames, columns } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames,
        categories: [category],
      },
      versions: [
        {
          name: apiVersion,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: servedSchemaOf(resource) },
        },
      ],
    },
  };
}

/** The schema in a definition, which also names the fields that it refuses. */
function servedSchemaOf(resource: Resource): ResourceSchema {
  const schema = schemaOf(resource);
  addLaterFields(schema.properties.spec, resource.laterFields ?? []);
  return schema;
}

/** What a resource looks like, as a structural schema of Kubernetes. */
export function schemaOf({ summary, spec, status, rules = [] }: Resource): ResourceSchema {
  return {
    description: summary,
    type: 'object',
    ...(rules.length === 0
      ? {}
      : {
          'x-kubernetes-validations': rules.map(({ rule, message }) => ({
            rule: `!has(self.spec) || (${rule})`,
            message,
          })),
        }),
    properties: {
      apiVersion: { type: 'string', description: 'The group and version of the kind.' },
      kind: { type: 'string', description: 'The kind.' },
      metadata: { type: 'object' }, // the API server has its own schema for metadata, and forbids others here
      spec: { description: 'The desired state.', ...structural(spec) },
      status: { description: 'The observed state.', ...structural(status) },
    },
  };
}

interface ResourceSchema {
  type: string;
  description: string;
  properties: Record<'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status', z.core.JSONSchema.BaseSchema>;
}

/** The example of a kind as a manifest. */
export function exampleOf({ kind, example: { name, spec } }: Resource): string {
  return stringify(
    { apiVersion: `${apiGroup}/${apiVersion}`, kind, metadata: { name }, spec },
    { lineWidth: 0 },
  );
}

/** A schema without features that Kubernetes refuses: without references and unknown keywords. */
function structural(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    override({ jsonSchema }) {
      delete jsonSchema.propertyNames;
      if (jsonSchema.pattern !== undefined) jsonSchema.pattern = jsonSchema.pattern.replaceAll('\\/', '/');
      // Any whole number is one without bounds.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // What else there may be is said by `x-kubernetes-preserve-unknown-fields`.
      if (jsonSchema.properties !== undefined) delete jsonSchema.additionalProperties;
      if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
    },
  });
  void $schema;
  return rest;
}
