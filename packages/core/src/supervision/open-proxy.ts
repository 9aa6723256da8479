import { sessionsOf } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { ToolRules } from '@toolhive/proxy/tool-filter';
import { inboundRuleOf } from '../permissions/inbound-hosts.ts';

/** Opens a workload's proxy with the settings in its run config, and with those of its parts. */
export function openProxy(
  runConfig: RunConfig,
  options: Omit<ProxyOptions, keyof ReturnType<typeof settingsOf>>,
): Promise<WorkloadProxy> {
  return WorkloadProxy.open({ ...options, ...settingsOf(runConfig) });
}

function settingsOf(runConfig: RunConfig) {
  const { name, host, port, transport } = runConfig;
  return {
    workload: name,
    host,
    port,
    transport: transport === 'inspector' ? ('stdio' as const) : transport,
    sessions: sessionsOf(runConfig),
    tools: toolsOf(runConfig),
    listsHost: inboundRuleOf(runConfig),
    allowedOrigins: runConfig.allowed_origins ?? [],
    repairsResults: true,
    metrics: runConfig.telemetry_config?.enablePrometheusMetricsPath === true,
  };
}

/** A workload's tool filter and overrides. */
export function toolsOf({ tools_filter: filter, tools_override: overrides }: RunConfig): Required<ToolRules> {
  return { filter: filter ?? [], overrides: overrides ?? {} };
}
