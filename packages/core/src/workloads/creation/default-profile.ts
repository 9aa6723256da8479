import { invalid } from '@toolhive/contract/failure';
import { builtInProfiles, profileRequired } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { settingCommand } from '@toolhive/contract/settings';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { valueOf } from '@toolhive/state/values';
import type { Settings } from '@toolhive/state/settings-file';

/** The profile of a server for which neither the request nor the registry has one. Throws `invalid` if users decide. */
export function defaultProfile(request: CreateWorkload, settings: Settings): PermissionProfile {
  const network = valueOf(settings, 'default-network');
  if (network === 'none') return builtInProfiles.none;
  // Without a network, nothing is left to decide.
  if (network !== 'ask' || request.network_mode === 'none') return builtInProfiles.public;
  throw invalid(`${profileRequired}, because the setting default-network is ask`, {
    hint: `add --permission-profile with public, none, or a file, or change the setting: thv ${settingCommand('set', 'default-network')} public`,
  });
}
