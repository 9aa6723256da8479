import { stringify } from 'yaml';
import { crdFiles, exampleOf, resources } from './crds/crds.ts';
import { leaderElectionRules, managerRules, registryApiRules } from './rbac.ts';

/** The generated files of both charts and the examples, by their path below `deploy/`. */
export function deployFiles(): Record<string, string> {
  const crds = Object.entries(crdFiles()).map(([name, text]) => [
    `charts/toolhive-operator-crds/templates/${name}`,
    kept(text),
  ]);
  const examples = resources.map((resource) => [
    `examples/${resource.kind.toLowerCase()}.yaml`,
    exampleOf(resource),
  ]);
  return {
    ...(Object.fromEntries([...crds, ...examples]) as Record<string, string>),
    'charts/toolhive-operator/rbac.yaml': stringify(
      { manager: managerRules, leaderElection: leaderElectionRules, registryApi: registryApiRules },
      { aliasDuplicateObjects: false },
    ),
  };
}

/** Adds an annotation for Helm. Without it, an uninstallation of the chart would delete every server of the cluster. */
function kept(crd: string): string {
  return crd.replace('metadata:\n', 'metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n');
}
