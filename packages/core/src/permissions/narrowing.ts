import { risks } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { dangersOf, mountDangersOf, unacceptedIn } from './consent.ts';
import type { Consent } from './consent.ts';
import type { Danger } from './mount-warnings.ts';
import { withMounts } from './mounts.ts';

/** Access to the server or to values, which no narrower permission of the server takes away. */
const waysIn: ReadonlySet<Risk> = new Set(['send-secrets', 'publish-ports', 'allow-origins']);

/** Takes away the exceptions from hardening and the network access of a run config that the user has not accepted. */
export function withoutUnacceptedSettings(runConfig: RunConfig, consent: Consent): RunConfig {
  const refused = risksOf(unacceptedIn(dangersOf(runConfig, []), consent)).filter(
    (risk) => !waysIn.has(risk),
  );
  if (refused.length === 0) return runConfig;
  const { permission_profile: profile, ...others } = runConfig;
  const hardened = refused.includes('privileged') ? { ...profile, privileged: false } : profile;
  const narrowed = { ...others, permission_profile: hardened };
  return withFindings(
    refused.some((risk) => risk !== 'privileged') ? withPublicHosts(narrowed) : narrowed,
    refused.map((risk) => findingOf([risk], risks[risk])),
  );
}

/** Removes the mounts that the user has not accepted. A mount that is only dangerous if it is writable is read-only. */
export function withoutUnacceptedMounts(
  runConfig: RunConfig,
  mounts: readonly PinnedMount[],
  consent: Consent,
): { runConfig: RunConfig; mounts: PinnedMount[] } {
  const refusedFor = (mount: PinnedMount): Risk[] => risksOf(unacceptedIn(mountDangersOf(mount), consent));
  const findings: string[] = [];
  const granted = mounts.flatMap((mount): PinnedMount[] => {
    const refused = refusedFor(mount);
    if (refused.length === 0) return [mount];
    const reading = { ...mount, readOnly: true };
    const isReading = refusedFor(reading).length === 0;
    const reason = refused.map((risk) => risks[risk]).join(', ');
    findings.push(
      findingOf(refused, `${isReading ? 'write access to' : 'access to'} ${mount.source}, ${reason}`),
    );
    return isReading ? [reading] : [];
  });
  if (findings.length === 0) return { runConfig, mounts: [...mounts] };
  const kept = new Map(granted.map(({ target, readOnly }) => [target, readOnly ? 'read' : 'write'] as const));
  return { runConfig: withFindings(withMounts(runConfig, kept), findings), mounts: granted };
}

const risksOf = (dangers: readonly Danger[]): Risk[] => [...new Set(dangers.map(({ risk }) => risk))];

/** Enforces rules, of the profile or for public hosts. The name of the profile would promise more. */
function withPublicHosts(runConfig: RunConfig): RunConfig {
  const { isolate_network: _notWanted, permission_profile, ...others } = runConfig;
  const { name: _name, ...profile } = permission_profile ?? {};
  const { mode: _mode, outbound, ...network } = profile.network ?? {};
  return {
    ...others,
    permission_profile: { ...profile, network: { ...network, outbound: withPublicPorts(outbound) } },
  };
}

type Outbound = NonNullable<PermissionProfile['network']>['outbound'];

function withPublicPorts(outbound: Outbound): Outbound {
  const { insecure_allow_all: isOpen, allow_port: ports = [], allow_host: hosts = [] } = outbound ?? {};
  if (isOpen !== true && hosts.length + ports.length > 0) return outbound;
  return { allow_port: [...new Set([...builtInProfiles.public.network.outbound.allow_port, ...ports])] };
}

function findingOf(refused: readonly Risk[], what: string): string {
  const consent = JSON.stringify({ accepted_risks: refused });
  return `not granted without consent: ${what}. To grant it, add ${consent} to an edit of the workload, or --accept-risks to thv run`;
}

function withFindings(runConfig: RunConfig, findings: readonly string[]): RunConfig {
  return { ...runConfig, not_granted: [...(runConfig.not_granted ?? []), ...findings] };
}
