import type { Command, Flag } from '../../command.ts';
import { connectionFlags } from './cluster.ts';

const apply: Flag = {
  name: 'apply',
  kind: 'boolean',
  description: 'Change the objects. By default, only show them',
};

const allNamespaces: Flag = {
  name: 'all-namespaces',
  shorthand: 'A',
  kind: 'boolean',
  description: 'Use the custom resources of all namespaces',
};

const include: Flag = {
  name: 'include',
  kind: 'list',
  value: 'KIND/NAME',
  description: 'Also adopt this object, which has no trace of its creator',
};

/** Commands for clusters with the operator. */
export const clusterCommands: readonly Command[] = [
  {
    path: 'cluster migrate',
    summary: 'Adopt objects of the original operator',
    description:
      'Finds the objects that the original operator created for your MCPServers and MCPRemoteProxies without an owner, and shows them. With --apply, each object gets its custom resource as its owner, so that this operator can update it.',
    flags: [...connectionFlags, allNamespaces, include, apply],
    exclusive: [['namespace', 'all-namespaces']],
    examples: [
      'thv cluster migrate --all-namespaces',
      'thv cluster migrate --namespace tools --apply',
      'thv cluster migrate --namespace tools --include ServiceAccount/fetch-proxy-runner',
    ],
    load: () => import('./migrate.ts'),
  },
  {
    path: 'cluster pins',
    summary: 'Pin the tools of a server in a cluster',
    description:
      'Shows how the tools, prompts, resources, and instructions that the server lists differ from spec.toolPins, and prints the pins of the listed versions. With --apply, writes these pins to the MCPServer or MCPRemoteProxy, or to the ConfigMap in spec.toolPins.configMap.',
    arguments: [{ name: 'name', description: 'The MCPServer or MCPRemoteProxy', required: true }],
    flags: [
      ...connectionFlags,
      { ...apply, description: 'Write the pins. By default, only print them' },
      { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Skip the confirmation' },
    ],
    examples: ['thv cluster pins weather --namespace tools', 'thv cluster pins weather --apply'],
    load: () => import('./pins.ts'),
  },
  {
    path: 'cluster translate-values',
    summary: 'Translate the chart values of the original operator',
    description:
      'Prints the values for the chart of this operator. The command fails and names each value that this chart cannot honor.',
    arguments: [
      {
        name: 'file',
        description: 'The values file of the original chart',
        required: true,
        completes: 'file',
      },
    ],
    examples: ['thv cluster translate-values values.yaml > translated.yaml'],
    load: () => import('./translate-values.ts'),
  },
  {
    path: 'cluster verify-audit',
    summary: 'Verify audit records of proxy pods',
    description:
      'Reads logs from proxy pods and follows each hash chain. The exit code is 1 if a record was changed or removed. Records at the end of a chain can be removed unnoticed.',
    arguments: [
      {
        name: 'file',
        description: 'The log files, with unchanged lines of the proxies',
        required: true,
        variadic: true,
        completes: 'file',
      },
    ],
    examples: ['thv cluster verify-audit proxy.log'],
    load: () => import('./verify-audit.ts'),
  },
];
