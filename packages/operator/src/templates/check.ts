import { messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { checkSingleWorkload, isConfigurationMistake } from '@toolhive/core/check-single-workload';
import { InvalidSpec } from './run-config.ts';

/**
 * Checks a run config as the proxy does at its start, except for the files in the proxy pod. A proxy that cannot start
 * would be restarted without end. Throws `InvalidSpec`.
 */
export async function checkRunConfig(runConfig: RunConfig, authorization: string | undefined): Promise<void> {
  const { authz_config_path: _mounted, oidc_config: oidc, ...config } = runConfig;
  const { cacertPath: _file, ...settings } = oidc ?? {};
  try {
    await checkSingleWorkload(
      {
        ...config,
        ...(oidc ? { oidc_config: settings } : {}),
        ...(authorization === undefined
          ? {}
          : { authz_config: JSON.parse(authorization) as RunConfig['authz_config'] }), // checked with its schema
      },
      { readSecret: async () => 'a value that is not used' },
    );
  } catch (error) {
    if (!isConfigurationMistake(error)) throw error;
    throw new InvalidSpec(`the proxy cannot start with this spec: ${messageOf(error)}`, { cause: error });
  }
}
