import { invalid } from '@toolhive/contract/failure';
import type { Flag, FlagValues } from '../../command.ts';

const context: Flag = {
  name: 'kube-context',
  kind: 'string',
  value: 'NAME',
  description: 'Use the Kubernetes cluster of this kubeconfig context instead of this machine',
  section: 'Kubernetes',
  completes: 'kube-context',
};

/** The flags that choose a cluster, or the one of the current context. */
export const connectionFlags: readonly Flag[] = [
  { ...context, description: 'The kubeconfig context. The default is the current one' },
  ...placeFlags(),
];

/** The flags that let `thv run` create a server in a cluster. */
export const clusterFlags: readonly Flag[] = [
  context,
  ...placeFlags(),
  {
    name: 'wait',
    kind: 'boolean',
    description: 'Wait until the server in Kubernetes is ready',
    default: true,
    section: 'Kubernetes',
  },
];

function placeFlags(): Flag[] {
  return [
    {
      name: 'kubeconfig',
      kind: 'string',
      value: 'FILE',
      description: 'The kubeconfig file. The default is the value of KUBECONFIG, then ~/.kube/config',
      section: 'Kubernetes',
      completes: 'file',
    },
    {
      name: 'namespace',
      kind: 'string',
      value: 'NAME',
      description: 'The namespace. The default is the namespace of the context',
      section: 'Kubernetes',
    },
  ];
}

/** Whether a command is for a cluster. Throws `invalid` for given flags that make sense only there. */
export function isForCluster(flags: FlagValues): boolean {
  if (flags.isGiven(context.name)) return true;
  const lone = clusterFlags.find(({ name }) => flags.isGiven(name));
  if (lone !== undefined) throw invalid(`--${lone.name} requires --${context.name}`);
  return false;
}

/** Throws `unsupported` for typed flags that have no meaning in a cluster. */
export function allowOnly(flags: FlagValues, names: readonly string[]): void {
  const common = [...clusterFlags.map(({ name }) => name), 'format', 'debug'];
  const other = flags.given().find((name) => !names.includes(name) && !common.includes(name));
  if (other !== undefined) throw invalid(`--${other} is not supported with --${context.name}`);
}
