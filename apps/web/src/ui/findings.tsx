import type { ReactNode } from 'react';
import type { Finding } from '@toolhive/contract/diagnosis';
import { withoutCommands } from './format.ts';
import { Fixes } from './fixes.tsx';
import { ForeignText } from './text.tsx';

const looks = {
  failed: { label: 'Failed', className: 'status bad', rank: 0 },
  warning: { label: 'Warning', className: 'status attention', rank: 1 },
  ok: { label: 'OK', className: 'status good', rank: 2 },
  skipped: { label: 'Skipped', className: 'status off', rank: 3 },
} as const;

/** The state of a finding as a word and a shape. */
export function FindingState({ state }: { state: Finding['state'] }): ReactNode {
  return (
    <span className={looks[state].className}>
      <span aria-hidden="true" className="status-shape" />
      {looks[state].label}
    </span>
  );
}

/** Failed findings have the lowest rank. */
export const findingRank = (state: Finding['state']): number => looks[state].rank;

/** The findings of a diagnosis, failures first, each with its fix. */
export function Findings({ findings }: { findings: readonly Finding[] }): ReactNode {
  const sorted = findings.toSorted((a, b) => findingRank(a.state) - findingRank(b.state));
  return (
    <ul className="findings">
      {sorted.map(({ layer, state, says, hint, fixes }, index) => (
        <li key={index}>
          <FindingState state={state} /> <strong>{layer}</strong>:{' '}
          <ForeignText>{withoutCommands(says)}</ForeignText>
          <Fixes hint={hint} fixes={fixes} />
        </li>
      ))}
    </ul>
  );
}
