import type { ReactNode } from 'react';
import type { DiagnosisLayer, Finding } from '@toolhive/contract/diagnosis';
import type { LogRecord } from '@toolhive/contract/log-record';
import { proxyNotes, workloadDiagnosis } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { FindingState } from '../../ui/findings.tsx';
import { Lanes } from '../../ui/drawing/lanes.tsx';
import { ago, count, dateTime, duration } from '../../ui/format.ts';

/** The steps of a start, in their order, by the layer whose check tells how the step ended. */
const steps: readonly (readonly [DiagnosisLayer, string])[] = [
  ['secrets', 'Secrets'],
  ['install', 'Install'],
  ['process', 'Start'],
  ['protocol', 'First response'],
  ['listing', 'List tools'],
];

/** How far the start of a server came, and its attempts. */
export function StartTimeline({ name }: { name: string }): ReactNode {
  const { data } = useResource(workloadDiagnosis(name));
  const { data: notes = [] } = useResource(proxyNotes(name));
  const attempts = attemptsIn(notes);
  const found = steps.flatMap(([layer, label]) => {
    const state = worst(data?.findings ?? [], layer);
    return state === undefined ? [] : [{ label, state }];
  });
  if (found.length === 0 && attempts.length === 0) return null;
  return (
    <section aria-labelledby="start">
      <h2 id="start">Start</h2>
      <ol className="timeline">
        {found.map(({ label, state }) => (
          <li key={label}>
            <span>{label}</span>
            <FindingState state={state} />
          </li>
        ))}
      </ol>
      <Attempts attempts={attempts} />
    </section>
  );
}

const severity = ['failed', 'warning', 'ok', 'skipped'] as const;

function worst(findings: readonly Finding[], layer: DiagnosisLayer): Finding['state'] | undefined {
  const states = findings.filter((each) => each.layer === layer).map(({ state }) => state);
  return severity.find((state) => states.includes(state));
}

interface Attempt {
  at: number;
  /** The time to the first response. Undefined for an attempt that failed. */
  ms: number | undefined;
}

/** More attempts are not drawn. */
const maxAttempts = 12;

/** The attempts since the server last answered, and that answer if it is the latest. ToolHive writes the notes. */
export function attemptsIn(notes: readonly LogRecord[]): readonly Attempt[] {
  const all = notes.flatMap(({ at, stream, text }): Attempt[] => {
    if (at === undefined || stream !== 'proxy') return [];
    const [, message] = /"msg":"(workload failed|workload runs)"/.exec(text) ?? [];
    const [, ms] = /"ms":(\d+)/.exec(text) ?? [];
    if (message === undefined) return [];
    return [{ at: Date.parse(at), ms: message === 'workload runs' ? Number(ms ?? 0) : undefined }];
  });
  const lastAnswer = all.slice(0, -1).findLastIndex(({ ms }) => ms !== undefined);
  return all.slice(lastAnswer + 1).slice(-maxAttempts);
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }): ReactNode {
  const last = attempts.at(-1);
  const [first] = attempts;
  if (last === undefined || first === undefined) return null;
  const failed = attempts.filter(({ ms }) => ms === undefined).length;
  const says = [
    failed > 0 && `${count(failed, 'attempt')} failed`,
    last.ms === undefined
      ? `the last one ${ago(last.at)}`
      : `answered after ${duration(last.ms)}, ${ago(last.at)}`,
  ]
    .filter((text) => text !== false)
    .join(', ');
  return (
    <>
      {attempts.length > 1 && (
        <Lanes
          lanes={[
            {
              name: 'Attempts',
              events: attempts.map(({ at, ms }) => ({ key: at, at, lasted: 0, isProblem: ms === undefined })),
            },
          ]}
          from={first.at}
          to={last.at + (last.at - first.at) / 50}
          label={`${says}, from ${dateTime(first.at)} to ${dateTime(last.at)}`}
        />
      )}
      <p className="quiet">{says.charAt(0).toUpperCase() + says.slice(1)}.</p>
    </>
  );
}
