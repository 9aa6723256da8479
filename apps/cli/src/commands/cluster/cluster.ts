import { invalid } from '@toolhive/contract/failure';
import type { Command, Flag, FlagValues } from '../../command.ts';
import { workload } from '../flags.ts';

const context: Flag = {
  name: 'kube-context',
  kind: 'string',
  value: 'NAME',
  description: 'Use the Kubernetes cluster of this kubeconfig context instead of this machine',
  section: 'Kubernetes',
  completes: 'kube-context',
};

const place: readonly Flag[] = [
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

/** The flags that send a command to a cluster. */
export const clusterFlags: readonly Flag[] = [context, ...place];

/** The flag of `thv run` for clusters. */
const wait: Flag = {
  name: 'wait',
  kind: 'boolean',
  description: 'Wait until the server in Kubernetes is ready',
  default: true,
  section: 'Kubernetes',
};

/** The flags that let `thv run` create a server in a cluster. */
export const clusterRunFlags: readonly Flag[] = [...clusterFlags, wait];

/** The commands that only exist for clusters. */
export const clusterCommands: readonly Command[] = [
  {
    path: 'port-forward',
    summary: 'Forward a local port to a server in Kubernetes',
    description:
      'Listens on this machine and forwards connections to the proxy of an MCPServer or MCPRemoteProxy, through the API server of the cluster. Only this machine can reach the port. Press Ctrl-C to stop.',
    arguments: [{ ...workload, description: 'The name of the server', completes: undefined }],
    flags: [
      { ...context, description: 'The kubeconfig context. The default is the current context' },
      ...place,
      {
        name: 'port',
        kind: 'integer',
        value: 'PORT',
        description: 'The local port. 0 selects a free port',
        default: 0,
      },
    ],
    examples: ['thv port-forward fetch', 'thv port-forward fetch --kube-context staging --port 8081'],
    load: () => import('./port-forward.ts'),
  },
];

/** Whether a command is for a cluster. Throws `invalid` for given flags of the command that make sense only there. */
export function isForCluster(flags: FlagValues, own: readonly Flag[] = clusterFlags): boolean {
  if (flags.isGiven(context.name)) return true;
  const lone = own.find(({ name }) => flags.isGiven(name));
  if (lone !== undefined) throw invalid(`--${lone.name} requires --${context.name}`);
  return false;
}

/** Throws `unsupported` for typed flags that have no meaning in a cluster. */
export function allowOnly(flags: FlagValues, names: readonly string[]): void {
  const common = [...clusterFlags.map(({ name }) => name), 'format', 'debug'];
  const other = flags.given().find((name) => !names.includes(name) && !common.includes(name));
  if (other !== undefined) throw invalid(`--${other} is not supported with --${context.name}`);
}
