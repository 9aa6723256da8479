import type { ResourceType } from '@toolhive/kubernetes/object';
import { mcpExternalAuthConfig } from '../crds/mcp-external-auth-config.ts';
import { hashOf } from '../runtime/canonical.ts';
import type { Finding } from '../runtime/conditions.ts';
import type { ToolConfigSpec } from '../templates/run-config.ts';
import { finalizersOf, finding, kinds, letGo, setFinalizers, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome, Pass } from './context.ts';
import { SECRET_POLL_MS } from './secret-reads.ts';

/** The controller of tool configurations. */
export const toolConfigController: Controller = {
  type: kinds.toolConfig,
  reconcile: (context, key, signal) =>
    reconcile(passOver(context, kinds.toolConfig, key, signal), 'toolConfigRef'),
};

/** The controller of token exchanges. */
export const externalAuthController: Controller = {
  type: kinds.externalAuth,
  reconcile: (context, key, signal) =>
    reconcile(passOver(context, kinds.externalAuth, key, signal), 'externalAuthConfigRef'),
};

type ReferenceField = 'toolConfigRef' | 'externalAuthConfigRef';

function passOver(context: Context, type: ResourceType, key: string, signal: AbortSignal): Pass | undefined {
  const resource = context.cache(type).get<CustomResource>(key);
  return resource && { context, resource, signal };
}

/** Keeps the hash and the list of references up to date, and holds a deletion while a reference exists. */
async function reconcile(pass: Pass | undefined, field: ReferenceField): Outcome {
  if (pass === undefined) return;
  const { context, resource } = pass;
  const { metadata, kind } = resource;
  const users = [kinds.server, kinds.remoteProxy].flatMap((user) =>
    context
      .cache(user)
      .all<CustomResource>()
      .filter((other) => other.metadata.namespace === metadata.namespace)
      .filter((other) => referenceOf(other, field) === metadata.name)
      .map((other) => other.metadata.name),
  );
  const servers = [...new Set(users)].toSorted();
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (isDeleted && servers.length === 0) return letGo(pass);
  const finalizer = finalizersOf[kind];
  const finalizers = metadata.finalizers ?? [];
  if (!isDeleted && finalizer !== undefined && !finalizers.includes(finalizer)) {
    return setFinalizers(pass, [...finalizers, finalizer]); // the change leads to the next pass
  }
  const secret = kind === 'MCPExternalAuthConfig' ? await checkSecret(pass) : undefined;
  const isReady = secret?.status !== 'False' && !isDeleted;
  const findings = [
    ...(secret === undefined ? [] : [secret]),
    finding(
      'Ready',
      isReady,
      isDeleted ? 'DeletionBlocked' : isReady ? 'Valid' : (secret?.reason ?? 'Invalid'),
      isDeleted
        ? `Deletion waits for ${servers.join(', ')}.`
        : (secret?.message ?? 'The configuration is valid.'),
    ),
  ];
  const status = {
    configHash: hashOf(resource.spec ?? {}),
    referencingServers: servers,
    ...countsOf(resource),
  };
  await writeStatus(pass, status, findings);
  return secret === undefined ? undefined : { againAfterMs: SECRET_POLL_MS };
}

/** The numbers of tools in a tool configuration, for people who list them. */
function countsOf({ kind, spec }: CustomResource): object {
  if (kind !== 'MCPToolConfig') return {};
  const { toolsFilter = [], toolsOverride = {} } = (spec ?? {}) as ToolConfigSpec; // the API server has the schema
  return { filterCount: toolsFilter.length, overrideCount: Object.keys(toolsOverride).length };
}

/** The name that a spec refers to. */
export function referenceOf({ spec }: CustomResource, field: ReferenceField): string | undefined {
  return (spec as Record<string, { name?: string } | undefined> | undefined)?.[field]?.name;
}

async function checkSecret({ context, resource, signal }: Pass): Promise<Finding> {
  const parsed = mcpExternalAuthConfig.spec.safeParse(resource.spec);
  const reference = parsed.data?.tokenExchange?.clientSecretRef;
  if (reference === undefined)
    return finding(
      'SecretResolved',
      false,
      'InvalidSpec',
      'spec.tokenExchange is required for type tokenExchange',
    );
  const { name, key } = reference;
  const { namespace = '' } = resource.metadata;
  const data = await context.secrets.read({ name, namespace }, signal);
  if (data === undefined)
    return finding('SecretResolved', false, 'SecretNotFound', `Secret ${name} not found`);
  return data[key] === undefined
    ? finding('SecretResolved', false, 'SecretKeyNotFound', `Secret ${name} has no key ${key}`)
    : finding('SecretResolved', true, 'SecretFound', `Secret ${name} has the key ${key}.`);
}
