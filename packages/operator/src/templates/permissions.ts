import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { listedBlock, neverListed, publicBlocks } from './policy-addresses.ts';
import type { AddressBlock } from './policy-addresses.ts';

/** How a permission profile is enforced in a cluster. */
export interface Enforcement {
  /** The egress of the server pods: none, rules of a NetworkPolicy, or only the gateway in the proxy pod. */
  egress:
    | { kind: 'none' }
    | { kind: 'policy'; ports: number[] | undefined; blocks: AddressBlock[] }
    | { kind: 'gateway' };
  mounts: { source: string; target: string; readOnly: boolean }[];
}

/** A part of a profile that a cluster cannot enforce, as a sentence. */
export class Unenforceable extends Error {}

/** Translates a profile. Throws `Unenforceable` instead of granting more than the profile. */
export function enforcementOf(profile: PermissionProfile): Enforcement {
  if (profile.privileged === true) throw new Unenforceable('privileged profiles are not supported');
  const mode = profile.network?.mode;
  if (!['', 'none', 'bridge', 'default'].includes(mode ?? '')) {
    throw new Unenforceable(`network mode ${mode} is not supported`);
  }
  return {
    egress: mode === 'none' ? { kind: 'none' } : egressOf(profile.network?.outbound),
    mounts: [
      ...(profile.read ?? []).map((mount) => mountOf(mount, true)),
      ...(profile.write ?? []).map((mount) => mountOf(mount, false)),
    ],
  };
}

function egressOf(outbound: NonNullable<PermissionProfile['network']>['outbound']): Enforcement['egress'] {
  const hosts = outbound?.allow_host ?? [];
  const ports = outbound?.allow_port ?? [];
  const isOpen = outbound?.insecure_allow_all === true;
  if (!isOpen && hosts.length === 0 && ports.length === 0) return { kind: 'none' };
  // As in the proxy, an open profile allows every public address, and of the listed hosts those that are addresses.
  if (isOpen) return { kind: 'policy', ports: undefined, blocks: hosts.flatMap(blocksOf) };
  // Names are known to the gateway only. A NetworkPolicy has addresses.
  if (hosts.length > 0) return { kind: 'gateway' };
  return { kind: 'policy', ports, blocks: [] };
}

/** Throws `Unenforceable` for an address that nothing allows, because the metadata service of a cloud tells its credentials. */
function blocksOf(host: string): AddressBlock[] {
  const never = neverListed(host);
  if (never !== undefined)
    throw new Unenforceable(
      `the profile allows ${host}, but servers never reach the link-local and metadata addresses ${never}: remove the host from the profile`,
    );
  const block = listedBlock(host);
  return block === undefined ? [] : [block];
}

function mountOf(mount: string, readOnly: boolean): Enforcement['mounts'][number] {
  const [source = '', target = source, ...rest] = mount.split(':');
  if (!source.startsWith('/') || !target.startsWith('/') || rest.length > 0 || mount.includes('..')) {
    throw new Unenforceable(`mount ${mount} is not supported: expected an absolute path or HOST:CONTAINER`);
  }
  return { source, target, readOnly };
}

const dnsPorts = (port: number): object[] => ['UDP', 'TCP'].map((protocol) => ({ protocol, port }));

/** The egress rules of a NetworkPolicy for server pods. */
export function egressRules(
  egress: Enforcement['egress'],
  proxyLabels: Record<string, string>,
  egressPort: number,
): object[] {
  if (egress.kind === 'none') return [];
  if (egress.kind === 'gateway') {
    return [
      {
        to: [{ podSelector: { matchLabels: proxyLabels } }],
        ports: [{ protocol: 'TCP', port: egressPort }],
      },
    ];
  }
  const blocks = [...publicBlocks, ...egress.blocks].map((ipBlock) => ({ ipBlock }));
  const ports = egress.ports?.map((port) => ({ protocol: 'TCP', port }));
  return [
    { to: blocks, ...(ports === undefined ? {} : { ports }) },
    {
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
          podSelector: {
            matchExpressions: [
              { key: 'k8s-app', operator: 'In', values: ['kube-dns', 'coredns', 'node-local-dns'] },
            ],
          },
        },
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
          podSelector: { matchLabels: { 'app.kubernetes.io/name': 'coredns' } },
        },
        { ipBlock: { cidr: '169.254.20.10/32' } }, // the node-local DNS cache
      ],
      ports: dnsPorts(53),
    },
    // The DNS of OpenShift. A NetworkPolicy sees the port of the pods.
    {
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } },
          podSelector: { matchLabels: { 'dns.operator.openshift.io/daemonset-dns': 'default' } },
        },
      ],
      ports: dnsPorts(5353),
    },
  ];
}
