import type { RunConfig } from '@toolhive/contract/run-config';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { ToolRules } from '@toolhive/proxy/tool-filter';

/** Opens the proxy of a workload as its run config says. */
export function openProxy(
  runConfig: RunConfig,
  options: Pick<ProxyOptions, 'version' | 'audit' | 'telemetry' | 'onExcess' | 'onFault' | 'onInvalidOutput'>,
): Promise<WorkloadProxy> {
  const { name, host, port, transport, sessions } = runConfig;
  return WorkloadProxy.open({
    workload: name,
    host,
    port,
    transport: transport === 'inspector' ? 'stdio' : transport,
    sessions: sessions ?? 'own',
    tools: toolsOf(runConfig),
    metrics: runConfig.telemetry_config?.enablePrometheusMetricsPath === true,
    ...options,
  });
}

/** Which tools of a workload clients see, and how. */
export function toolsOf({ tools_filter: filter, tools_override: overrides }: RunConfig): Required<ToolRules> {
  return { filter: filter ?? [], overrides: overrides ?? {} };
}
