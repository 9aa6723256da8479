import type { ClientName } from '@toolhive/contract/client-application';
import type { Diagnosis } from '@toolhive/contract/diagnosis';
import { advice, fixes } from '@toolhive/contract/fixes';
import type { Core } from '../core.ts';
import { diagnose, failed } from './check.ts';
import { clientChecks } from './client-checks.ts';
import { machineChecks } from './machine-checks.ts';
import { workloadChecks } from './workload-checks.ts';

/** Inspects the machine, and briefly every workload and client. Never rejects. */
export function diagnoseMachine(core: Core, signal: AbortSignal): Promise<Diagnosis> {
  return diagnose('machine', machineChecks, core, signal);
}

/** Looks at a workload from the ground up. Rejects only when there is none of that name. */
export async function diagnoseWorkload(core: Core, name: string, signal: AbortSignal): Promise<Diagnosis> {
  const setAside = core.workloads.setAside.find((config) => config.name === name);
  if (setAside !== undefined) {
    const says = `its run config could not be read: ${setAside.why}`;
    const found = failed(
      says,
      advice(`fix ${setAside.path} and rename it back, or remove it: thv rm ${name}`, fixes.remove(name)),
    );
    return { subject: name, healthy: false, findings: [{ layer: 'file', ...found }] };
  }
  const supervisor = core.workloads.require(name);
  return diagnose(name, workloadChecks, { core, supervisor }, signal);
}

/** Inspects a client, registered or not. */
export function diagnoseClient(core: Core, name: ClientName, signal: AbortSignal): Promise<Diagnosis> {
  return diagnose(name, clientChecks, { core, name }, signal);
}
