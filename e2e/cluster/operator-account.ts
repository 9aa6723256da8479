import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ObjectMeta } from '@toolhive/kubernetes/object';
import { leaderElectionRules, managerRules } from '@toolhive/operator/rbac';
import type { PolicyRule } from '@toolhive/operator/rbac';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { parse, stringify } from 'yaml';
import { applyObject } from './apply-object.ts';
import { testTypes } from './object-kinds.ts';

interface Role extends KubernetesObject {
  rules: readonly PolicyRule[];
}
interface Binding extends KubernetesObject {
  roleRef: object;
  subjects: object[];
}

const NAME = 'toolhive-operator';
const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace: 'default' }];
const apiVersion = 'rbac.authorization.k8s.io/v1';

const roleOf = (kind: string, metadata: ObjectMeta, rules: readonly PolicyRule[]): Role => ({
  apiVersion,
  kind,
  metadata,
  rules,
});
const bindingOf = (kind: string, metadata: ObjectMeta, role: string): Binding => ({
  apiVersion,
  kind,
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role, name: NAME },
  subjects,
});

const election = { name: NAME, namespace: 'default' };

/** Gives the operator the permissions that the Helm chart gives. */
export async function grantPermissions(cluster: ControlPlane): Promise<void> {
  const objects: KubernetesObject[] = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: election },
    roleOf('ClusterRole', { name: NAME }, managerRules),
    bindingOf('ClusterRoleBinding', { name: NAME }, 'ClusterRole'),
    roleOf('Role', election, leaderElectionRules),
    bindingOf('RoleBinding', election, 'Role'),
  ];
  for (const object of objects) await applyObject(cluster, 'default', object);
}

/** Takes the permissions for everything except the leader election away. */
export async function revokePermissions(cluster: ControlPlane): Promise<void> {
  await cluster.client.delete(testTypes.clusterRoleBinding, { name: NAME });
}

interface TokenRequest extends KubernetesObject {
  status?: { token: string };
}

/** Creates a token of a service account, as `kubectl create token` does. */
export async function tokenOf({ client }: ControlPlane, namespace: string, account: string): Promise<string> {
  const { serviceAccount } = types;
  const type = { ...serviceAccount, plural: `${serviceAccount.plural}/${account}/token` };
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: account, namespace },
    spec: {},
  };
  const { status } = await client.create<TokenRequest>(type, request);
  if (status === undefined) throw new Error(`no token of ${account}`);
  return status.token;
}

/** A kubeconfig file with a new token of the operator's service account. */
export interface OperatorAccount {
  path: string;
  /** The identity of the token in the audit log. */
  credential: string;
}

/** Creates a token and a kubeconfig file, for the API server itself or for a proxy in front of the API server. */
export async function operatorAccount(cluster: ControlPlane, server?: string): Promise<OperatorAccount> {
  const token = await tokenOf(cluster, 'default', NAME);
  const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
    users: { user: object }[];
  };
  for (const entry of config.users) entry.user = { token };
  if (server !== undefined) for (const { cluster: entry } of config.clusters) entry.server = server;
  const [, payload = ''] = token.split('.');
  const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { jti: string };
  const path = join(cluster.state, `operator-${jti}.kubeconfig`);
  await writeFile(path, stringify(config), { mode: 0o600 });
  return { path, credential: `JTI=${jti}` };
}
