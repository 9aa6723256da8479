import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leaderElectionRules, managerRules } from '@toolhive/operator/rbac';
import type { PolicyRule } from '@toolhive/operator/rbac';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { parse, stringify } from 'yaml';

const NAME = 'toolhive-operator';
const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace: 'default' }];
const apiVersion = 'rbac.authorization.k8s.io/v1';

const roleOf = (kind: string, metadata: object, rules: readonly PolicyRule[]): object => ({
  apiVersion,
  kind,
  metadata,
  rules,
});
const bindingOf = (kind: string, metadata: object, role: string): object => ({
  apiVersion,
  kind,
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role, name: NAME },
  subjects,
});

const election = { name: NAME, namespace: 'default' };

/** Gives the operator the permissions that the Helm chart gives. */
export async function grantPermissions(cluster: ControlPlane): Promise<void> {
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: election },
    roleOf('ClusterRole', { name: NAME }, managerRules),
    bindingOf('ClusterRoleBinding', { name: NAME }, 'ClusterRole'),
    roleOf('Role', election, leaderElectionRules),
    bindingOf('RoleBinding', election, 'Role'),
  ];
  await cluster.kubectl(['apply', '-f', '-'], objects.map((object) => stringify(object)).join('---\n'));
}

/** Takes the permissions for everything except the leader election away. */
export async function revokePermissions(cluster: ControlPlane): Promise<void> {
  await cluster.kubectl(['delete', 'clusterrolebinding', NAME]);
}

/** A kubeconfig file with a new token of the operator's service account. */
export interface OperatorAccount {
  path: string;
  /** The identity of the token in the audit log. */
  credential: string;
}

/** Creates a token and a kubeconfig file, for the API server itself or for a proxy in front of the API server. */
export async function operatorAccount(cluster: ControlPlane, server?: string): Promise<OperatorAccount> {
  const token = await cluster.kubectl(['create', 'token', NAME, '--namespace', 'default']);
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
