import type * as z from 'zod';

/**
 * A field that only later versions of the original know. The API server removes unknown fields unless the client asks for strict
 * validation, and a server without its field could run without authentication or authorization. So the definitions
 * contain these fields, and refuse them.
 */
export interface LaterField {
  /** The names from the spec to the field, with dots. */
  path: string;
  type: 'object' | 'string' | 'integer';
  /** What the user can do instead. */
  instead: string;
}

/** Later fields on servers and remote servers. */
const laterProxyFields: readonly LaterField[] = [
  { path: 'oidcConfigRef', type: 'object', instead: 'set spec.oidcConfig' },
  { path: 'authServerRef', type: 'object', instead: 'set spec.oidcConfig for tokens of your provider' },
  { path: 'authzConfigRef', type: 'object', instead: 'set spec.authzConfig' },
  ...['groupClaimName', 'roleClaimName', 'groupEntityType'].map((name): LaterField => ({
    path: `authzConfig.${name}`,
    type: 'string',
    instead: 'remove it, and compare claims in the policies, such as context.claim_groups',
  })),
  {
    path: 'authzConfig.inline.primaryUpstreamProvider',
    type: 'string',
    instead: "remove it, and write policies for the claims of the caller's token",
  },
  {
    path: 'oidcConfig.inline.clientSecretRef',
    type: 'object',
    instead: 'use type configMap, or remove the field',
  },
  { path: 'telemetryConfigRef', type: 'object', instead: 'set spec.telemetry' },
  { path: 'proxyPort', type: 'integer', instead: 'set spec.port' },
];

/** Later fields on servers. */
export const laterServerFields: readonly LaterField[] = [
  ...laterProxyFields,
  {
    path: 'webhookConfigRef',
    type: 'object',
    instead: 'remove it, and decide calls with policies in spec.authzConfig',
  },
  { path: 'mcpPort', type: 'integer', instead: 'set spec.targetPort' },
];

/** Later fields on remote servers. */
export const laterRemoteFields: readonly LaterField[] = [
  ...laterProxyFields,
  {
    path: 'headerForward',
    type: 'object',
    instead: 'remove it, and get tokens for the remote server with spec.externalAuthConfigRef',
  },
  {
    path: 'podTemplateSpec',
    type: 'object',
    instead: 'set spec.resourceOverrides.proxyDeployment or spec.resources',
  },
];

/** Later fields on token exchanges. */
export const laterExchangeFields: readonly LaterField[] = ['subjectTokenType', 'subjectProviderName'].map(
  (name) => ({
    path: `tokenExchange.${name}`,
    type: 'string',
    instead: "remove it, because the caller's access token is exchanged",
  }),
);

/** The problems with later fields in a spec. */
export function laterFieldProblems(fields: readonly LaterField[], spec: unknown): string[] {
  return fields.filter(({ path }) => valueAt(spec, path.split('.')) !== undefined).map(problemOf);
}

/** Adds fields to a spec's schema, which refuses them. */
export function addLaterFields(schema: z.core.JSONSchema.BaseSchema, fields: readonly LaterField[]): void {
  for (const field of fields) {
    const [name = '', ...parents] = field.path.split('.').toReversed();
    let parent = schema;
    for (const each of parents.toReversed()) {
      const child = parent.properties?.[each];
      if (typeof child !== 'object') throw new Error(`there is no ${each} for ${field.path}`);
      parent = child;
    }
    parent.properties = { ...parent.properties, [name]: refusal(field) };
  }
}

function refusal(field: LaterField): z.core.JSONSchema.BaseSchema {
  const { type, instead } = field;
  return {
    description: `Not supported: ${instead}.`,
    type,
    ...(type === 'object' ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    'x-kubernetes-validations': [{ rule: 'false', message: problemOf(field) }],
  };
}

function problemOf({ path, instead }: LaterField): string {
  return `spec.${path} is not supported: ${instead}`;
}

function valueAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined || typeof value !== 'object' || value === null) return value;
  return Object.hasOwn(value, name) ? valueAt((value as Record<string, unknown>)[name], rest) : undefined;
}
