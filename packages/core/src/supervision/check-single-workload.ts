import { ThvError, invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { openWorkloadAccess } from '@toolhive/access/workload-access';
import { checkAuditConfig } from '@toolhive/audit/audit-config';
import { refuseUnenforced } from '../permissions/enforcement.ts';
import type { SingleWorkloadOptions } from './single-workload.ts';
import { checkTelemetry } from './telemetry-options.ts';

/** Throws `invalid` or `not-implemented` for a run config that cannot run with all of its rules. Makes no requests. */
export async function checkSingleWorkload(
  runConfig: RunConfig,
  { readSecret }: Pick<SingleWorkloadOptions, 'readSecret'>,
): Promise<void> {
  refuseUnenforced(runConfig);
  checkTelemetry(runConfig);
  checkAuditConfig(runConfig);
  if (runConfig.audit_config?.log_file)
    throw invalid('audit_config.log_file is not supported without a daemon', {
      hint: 'remove log_file to write audit events to standard output',
    });
  using access = await openWorkloadAccess(runConfig, readSecret);
  void access;
}

/** Whether a failure is a mistake in the run config, which only a person can fix. */
export const isConfigurationMistake = (error: unknown): boolean =>
  error instanceof ThvError && (error.kind === 'invalid' || error.kind === 'not-implemented');
