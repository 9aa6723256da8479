import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, OwnerReference, ResourceType } from '@toolhive/kubernetes/object';
import { isConflict, isNotFound } from '@toolhive/kubernetes/status';
import { namesOf } from '@toolhive/operator/names';
import type { ProxiedKind } from '@toolhive/operator/names';
import type { CommandCall } from '../../command.ts';
import { inCluster, owners } from './connection.ts';

/** The programs of the original that write objects, by the names of their field managers. */
const writers: ReadonlySet<string | undefined> = new Set([
  'toolhive-container-manager',
  'thv-operator',
  'thv-proxyrunner',
]);

/** An object without an owner that has the name of one that belongs to a custom resource. */
interface Found {
  kind: string;
  namespace: string;
  name: string;
  owner: string;
  action: 'adopt' | 'adopted' | 'skip';
  reason?: string;
}

interface Candidate {
  type: ResourceType;
  object: KubernetesObject;
  owner: OwnerReference;
  found: Found;
}

/** Shows the objects of the original operator that have no owner, and with `--apply` gives them their owner. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, signal } = call;
  const applies = flags.has('apply');
  await inCluster(call, async (client, own) => {
    const namespace = flags.has('all-namespaces') ? undefined : own;
    const candidates = await candidatesIn(client, namespace, {
      included: new Set(flags.list('include')),
      signal,
    });
    if (applies)
      for (const candidate of candidates)
        if (candidate.found.action === 'adopt') await adopt(client, candidate, signal);
    const objects = candidates.map(({ found }) => found);
    out.result({ applied: applies, objects }, (page) => {
      if (objects.length === 0) return page.line('No object of a custom resource lacks its owner.');
      page.table(
        ['NAMESPACE', 'OBJECT', 'OWNER', 'ACTION'],
        objects.map(({ kind, namespace: place, name, owner, action, reason }) => [
          place,
          `${kind}/${name}`,
          owner,
          reason === undefined ? action : `${action}: ${reason}`,
        ]),
      );
    });
    if (!applies && objects.some(({ action }) => action === 'adopt'))
      out.note('nothing was changed. Run the command with --apply to adopt these objects');
  });
}

async function candidatesIn(
  client: KubernetesClient,
  namespace: string | undefined,
  { included, signal }: { included: ReadonlySet<string>; signal: AbortSignal },
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for (const owner of owners) {
    const { items } = await client.list(owner, { ...(namespace === undefined ? {} : { namespace }), signal });
    for (const { metadata } of items)
      for (const { type, name } of objectsOf(owner.kind, metadata.name)) {
        const place = { name, namespace: metadata.namespace ?? '' };
        const object = await client.get(type, place, { signal }).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        if (object === undefined || isControlled(object)) continue;
        found.push(candidateOf(type, object, { ...owner, metadata }, included));
      }
  }
  return found;
}

/** The objects that an operator creates for a custom resource. */
function objectsOf(kind: ProxiedKind, name: string): { type: ResourceType; name: string }[] {
  const names = namesOf(kind, name);
  const account = [types.serviceAccount, types.role, types.roleBinding].map((type) => ({
    type,
    name: names.proxyAccount,
  }));
  const ofServer = [
    { type: types.statefulSet, name: names.workload },
    { type: types.service, name: names.headlessService },
    { type: types.serviceAccount, name: names.serverAccount },
  ];
  return [
    { type: types.deployment, name: names.workload },
    ...(kind === 'MCPServer' ? ofServer : []),
    { type: types.service, name: names.proxyService },
    { type: types.configMap, name: names.runConfig },
    { type: types.configMap, name: names.authorization },
    ...account,
  ];
}

function isControlled({ metadata }: KubernetesObject): boolean {
  return metadata.ownerReferences?.some(({ controller }) => controller === true) === true;
}

function candidateOf(
  type: ResourceType,
  object: KubernetesObject,
  owner: KubernetesObject,
  included: ReadonlySet<string>,
): Candidate {
  const { name, namespace = '' } = object.metadata;
  const reason = refusalOf(object, owner, included.has(`${type.kind}/${name}`));
  const found: Found = {
    kind: type.kind,
    namespace,
    name,
    owner: `${owner.kind}/${owner.metadata.name}`,
    action: reason === undefined ? 'adopt' : 'skip',
    ...(reason === undefined ? {} : { reason }),
  };
  const { apiVersion, kind, metadata } = owner;
  const reference = {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return { type, object, owner: reference, found };
}

/** Why an object is not adopted, if it is not. The name alone does not show who created an object. */
function refusalOf(
  { metadata }: KubernetesObject,
  owner: KubernetesObject,
  isIncluded: boolean,
): string | undefined {
  const { labels = {}, managedFields = [] } = metadata;
  const { name } = owner.metadata;
  if (owner.metadata.deletionTimestamp !== undefined) return `${owner.kind} ${name} is being deleted`;
  if (metadata.deletionTimestamp !== undefined) return 'the object is being deleted';
  const isNamed =
    labels['toolhive'] === 'true' &&
    [labels['toolhive-name'], labels['app.kubernetes.io/instance'], labels['app']].includes(name);
  const isConfig = labels['toolhive.stacklok.io/mcp-server'] === name;
  const isWritten = managedFields.some(({ manager }) => writers.has(manager));
  return isNamed || isConfig || isWritten || isIncluded ? undefined : 'no trace of ToolHive, see --include';
}

async function adopt(client: KubernetesClient, candidate: Candidate, signal: AbortSignal): Promise<void> {
  const { type, object, owner, found } = candidate;
  const { resourceVersion, ownerReferences = [] } = object.metadata;
  const patch = { metadata: { resourceVersion, ownerReferences: [...ownerReferences, owner] } };
  try {
    await client.patch(type, object.metadata, patch, signal);
    found.action = 'adopted';
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
    found.action = 'skip';
    found.reason = 'changed in the meantime, run the command again';
  }
}
