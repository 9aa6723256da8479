import type { ReactNode } from 'react';
import type { Permissions } from '@toolhive/contract/network';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { withoutCommands } from './format.ts';
import { ForeignText } from './text.tsx';

type Risk = 'high' | 'medium' | 'low';

interface Line {
  risk: Risk;
  text: string;
}

const rank: Record<Risk, number> = { high: 0, medium: 1, low: 2 };
const labels: Record<Risk, string> = { high: 'High risk', medium: 'Medium', low: 'Low' };

/** What a server may access, in words, the most dangerous first. */
export function PermissionList({ permissions }: { permissions: Permissions }): ReactNode {
  return <Lines lines={linesOf(permissions)} warnings={permissions.warnings} />;
}

function Lines({ lines, warnings }: { lines: readonly Line[]; warnings: readonly string[] }): ReactNode {
  const sorted = lines.toSorted((a, b) => rank[a.risk] - rank[b.risk]);
  return (
    <ul className="permissions">
      {warnings.map((warning) => (
        <li key={warning}>
          <span className="risk high">Warning</span> <ForeignText>{withoutCommands(warning)}</ForeignText>
        </li>
      ))}
      {sorted.map(({ risk, text }) => (
        <li key={text}>
          <span className={`risk ${risk}`}>{labels[risk]}</span>
          <span>
            <ForeignText>{text}</ForeignText>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The paths on which a mount gives a server power over the whole account of the user. */
const sensitive =
  /^(?:\/|~|\/home\/[^/]+|\/Users\/[^/]+|\/root|\/etc|.*\/\.(?:ssh|aws|gnupg|kube|docker).*)\/?$/;

function linesOf({ network, mounts, privileged, inbound_hosts: inbound }: Permissions): Line[] {
  return [
    ...(privileged
      ? [{ risk: 'high' as const, text: 'Runs as a privileged container, without isolation' }]
      : []),
    ...networkLines(network),
    ...mounts.map(({ source, target, read_only: isReadOnly }): Line => ({
      risk: sensitive.test(source) ? 'high' : isReadOnly ? 'low' : 'medium',
      text: `${isReadOnly ? 'Reads' : 'Reads and changes'} ${source}${target === source ? '' : ` (as ${target})`}`,
    })),
    ...(mounts.length === 0 ? [{ risk: 'low' as const, text: 'Cannot access your files' }] : []),
    ...(inbound === undefined
      ? []
      : [{ risk: 'low' as const, text: `Its proxy accepts requests only for ${inbound.join(', ')}` }]),
  ];
}

const list = new Intl.ListFormat('en');

function networkLines({
  kind,
  hosts,
  ports,
  local_ports: localPorts = [],
  private_hosts: privateHosts,
  mode,
  enforced,
}: Permissions['network']): Line[] {
  const unenforced = enforced ? '' : ', which the runtime does not enforce';
  switch (kind) {
    case 'none':
      return [{ risk: enforced ? 'low' : 'high', text: `Cannot use the network${unenforced}` }];
    case 'rules':
      return [
        ...(hosts?.length === 0 ? [] : [ruleLine({ hosts, ports, enforced, unenforced })]),
        ...localPorts.map((port): Line => ({
          risk: 'high',
          text: `Can reach the program that listens on port ${port} of this machine`,
        })),
      ];
    case 'open':
      return [
        { risk: 'high', text: 'Can reach every public host on every port' },
        ...(privateHosts === undefined || privateHosts.length > 0
          ? [
              {
                risk: 'high' as const,
                text: `Can reach ${privateHosts === undefined ? 'private networks, such as your home or office network' : privateHosts.join(', ')}`,
              },
            ]
          : []),
      ];
    case 'mode':
      return [
        { risk: 'high', text: `Uses the network "${mode ?? ''}" of the container engine or of this machine` },
      ];
  }
}

function ruleLine({
  hosts,
  ports,
  enforced,
  unenforced,
}: Pick<Permissions['network'], 'hosts' | 'ports' | 'enforced'> & { unenforced: string }): Line {
  const where = ports === undefined ? '' : ` on port ${list.format(ports.map(String))}`;
  return hosts === undefined
    ? { risk: 'medium', text: `Can reach every public host${where}, but no private addresses${unenforced}` }
    : { risk: enforced ? 'low' : 'high', text: `Can reach only ${hosts.join(', ')}${where}${unenforced}` };
}

/**
 * The permissions of a profile, before there is a workload. A registry entry without a profile gets the public internet on ports
 * 80 and 443.
 */
export function permissionsOf(profile: PermissionProfile | undefined): Permissions {
  const outbound = profile?.network?.outbound;
  const mounts = [
    ...(profile?.read ?? []).map((path) => ({ path, isReadOnly: true })),
    ...(profile?.write ?? []).map((path) => ({ path, isReadOnly: false })),
  ];
  return {
    network:
      profile?.network?.mode !== undefined &&
      profile.network.mode !== 'bridge' &&
      profile.network.mode !== 'none'
        ? { kind: 'mode', mode: profile.network.mode, enforced: true }
        : outbound?.insecure_allow_all === true
          ? { kind: 'open', enforced: true, private_hosts: outbound.allow_host ?? [] }
          : profile === undefined
            ? { kind: 'rules', ports: [80, 443], enforced: true }
            : outbound?.allow_host === undefined && outbound?.allow_port === undefined
              ? { kind: 'none', enforced: true }
              : {
                  kind: 'rules',
                  hosts: outbound.allow_host,
                  ports: outbound.allow_port ?? [80, 443],
                  enforced: true,
                },
    mounts: mounts.map(({ path, isReadOnly }) => {
      const [source = path, target = source] = path.split(':');
      return { source, target, read_only: isReadOnly };
    }),
    privileged: profile?.privileged === true,
    warnings: [],
  };
}
