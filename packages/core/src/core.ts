import type { ClientsWing } from './wings/clients.ts';
import type { GovernanceWing } from './wings/governance.ts';
import type { StateWing } from './wings/state.ts';
import type { SupplyWing } from './wings/supply.ts';
import type { WorkloadsWing } from './wings/workloads.ts';

/** The composed product. A function takes the wing that it uses, or all of them. */
export interface Core
  extends StateWing, GovernanceWing, SupplyWing, WorkloadsWing, ClientsWing, AsyncDisposable {}
