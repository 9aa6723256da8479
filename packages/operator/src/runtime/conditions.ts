/** A condition of a status. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** A condition as a controller states the condition, without times. */
export interface Finding {
  type: string;
  status: Condition['status'];
  reason: string;
  message: string;
}

const MAX_MESSAGE_CHARACTERS = 32_000;

/** Completes findings to conditions. The time of a condition changes only with its status. */
export function conditionsOf(
  findings: readonly Finding[],
  previous: readonly Condition[] | undefined,
  generation: number,
  now: Date,
): Condition[] {
  return findings.map((finding) => {
    const before = previous?.find(({ type }) => type === finding.type);
    return {
      ...finding,
      message: finding.message.slice(0, MAX_MESSAGE_CHARACTERS),
      observedGeneration: generation,
      lastTransitionTime:
        before?.status === finding.status
          ? before.lastTransitionTime
          : now.toISOString().replace(/\.\d+Z$/, 'Z'),
    };
  });
}
