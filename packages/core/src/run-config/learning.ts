import type { RunConfig } from '@toolhive/contract/run-config';

/** A run config whose learning mode has ended if its time is over. What it has recorded is neither applied nor lost. */
export function withLearningEnded(runConfig: RunConfig, now: Date): RunConfig {
  const { learning, ...others } = runConfig;
  if (learning?.until === undefined || Date.parse(learning.until) > now.getTime()) return runConfig;
  return { ...others, learned: { since: learning.since, until: learning.until } };
}

/**
 * The learning of an edited workload. It continues and keeps its record, because clients can send back a workload
 * description. A description from before its end does not begin it again.
 */
export function withLearningOf(edited: RunConfig, { learning, learned }: RunConfig): RunConfig {
  const { learning: asked, ...others } = edited;
  if (asked !== undefined && learning !== undefined) return { ...edited, learning };
  return learned === undefined ? edited : { ...others, learned };
}
