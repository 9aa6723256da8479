import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { LaunchNetwork } from '@toolhive/runtime/runtime';

/**
 * The network that a profile comes to. One that allows nothing gets none, whether isolation was asked for or
 * not: there is nothing that it could lose.
 */
export function networkOf({ network }: PermissionProfile): LaunchNetwork {
  const mode = network?.mode;
  if (mode !== undefined && mode !== '' && mode !== 'bridge' && mode !== 'default') {
    return mode === 'none' ? { kind: 'none' } : { kind: 'mode', mode };
  }
  return allowsNothing(network?.outbound) ? { kind: 'none' } : { kind: 'open' };
}

type Outbound = NonNullable<PermissionProfile['network']>['outbound'];

function allowsNothing(outbound: Outbound): boolean {
  if (outbound?.insecure_allow_all === true) return false;
  return (outbound?.allow_host ?? []).length === 0 && (outbound?.allow_port ?? []).length === 0;
}
