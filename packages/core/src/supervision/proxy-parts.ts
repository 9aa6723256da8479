import { hkdfSync } from 'node:crypto';
import type { RunConfig } from '@toolhive/contract/run-config';
import { identifyCallers } from '@toolhive/proxy/in-process-server';
import type { PolicyDoubts } from '@toolhive/access/policy-doubts';
import type { WorkloadAccess } from '@toolhive/access/workload-access';
import { auditOf } from '@toolhive/audit/audit-config';
import { ownKey } from '@toolhive/state/own-key';
import type { ProxyPart } from '../parts/part.ts';
import { telemetryOf } from './telemetry-options.ts';

/** Who may use a workload, and for what. `doubts` learns of policies while they apply. */
export function accessPart(
  accessOf: (runConfig: RunConfig) => Promise<WorkloadAccess>,
  doubts?: PolicyDoubts,
): ProxyPart {
  return {
    async proxyOptions({ id, runConfig }, { own }) {
      const { [Symbol.dispose]: _, ...access } = own(await accessOf(runConfig));
      if (access.authorizer !== undefined && doubts !== undefined) own(doubts.watch(id, access.authorizer));
      return access;
    },
  };
}

/** The audit records of calls. */
export function auditPart(audit: Parameters<typeof auditOf>[1]): ProxyPart {
  return { proxyOptions: async ({ runConfig }) => ({ audit: await auditOf(runConfig, audit) }) };
}

/** Traces and metrics. */
export function telemetryPart(service: { version: string; env: NodeJS.ProcessEnv }): ProxyPart {
  return {
    proxyOptions: ({ runConfig }, { warn }) => {
      const onFailure = (reason: string): void =>
        warn({ reason }, 'telemetry cannot be sent to its endpoint');
      return { telemetry: telemetryOf(runConfig, { ...service, onFailure }) };
    },
  };
}

/**
 * The IDs of tasks stay valid after a restart, but not for another workload that gets the same name. Without the key, they
 * last as long as the proxy.
 */
export function tasksPart(path: string): ProxyPart {
  let reading: Promise<Uint8Array> | undefined;
  return {
    async proxyOptions({ id }, { warn }) {
      reading ??= ownKey(path); // once, because several workloads start at the same time
      const key = await reading.catch((error: unknown) => {
        reading = undefined; // the next start tries again
        warn({ err: error }, 'tasks will end with the daemon, because their key cannot be stored');
      });
      if (key === undefined) return {};
      const own = new Uint8Array(hkdfSync('sha256', key, id, 'tasks', key.length));
      return { taskKeys: () => [own] };
    },
  };
}

/** A built-in server learns who calls, because it acts for its callers. */
export const builtInPart: ProxyPart = {
  proxyOptions: ({ runConfig }) =>
    runConfig.built_in === undefined ? {} : { middleware: [identifyCallers()] },
};
