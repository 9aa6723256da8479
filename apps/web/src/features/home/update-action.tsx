import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { client } from '../../api/client.ts';
import { failureOf, refresh } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { count } from '../../ui/format.ts';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.ts';

interface Found {
  name: string;
  current: string | undefined;
  newest: string;
  isYoung: boolean;
}

/** Looks for newer versions of the selected workloads, shows them, and installs them after a confirmation. */
export function UpdateAction({ names }: { names: readonly string[] }): ReactNode {
  const [found, setFound] = useState<readonly Found[] | undefined>();
  const { progress, run } = useSteps();
  const lookUp = async (signal: AbortSignal, onStep: (step: string) => void): Promise<void> => {
    const outdated: Found[] = [];
    // One after the other: each lookup starts programs.
    for (const name of names) {
      onStep(`Looking up ${name}`);
      await attempt(`Cannot look up ${name}`, async () => {
        const update = await client.getWorkloadUpdate({ params: { name }, query: {} });
        const { outdated: isOutdated, newest, current, young: isYoung } = update;
        if (isOutdated && newest !== undefined) outdated.push({ name, newest, current, isYoung });
      });
      if (signal.aborted) return;
    }
    refresh('workloads');
    if (outdated.length > 0) setFound(outdated);
    else toast('No newer version was found');
  };
  const install = async (signal: AbortSignal, onStep: (step: string) => void): Promise<void> => {
    const chosen = found ?? [];
    setFound(undefined);
    let updated = 0;
    for (const { name, newest } of chosen) {
      onStep(`Updating ${name}`);
      const input = { params: { name }, body: { version: newest } };
      if (
        await attempt(`Cannot update ${name}`, () => client.upgradeWorkload(input, { onProgress: () => {} }))
      )
        updated += 1;
      if (signal.aborted) return;
    }
    refresh('workloads');
    toast(`Updated ${updated} of ${chosen.length}`);
  };
  return (
    <>
      <Action disabled={progress !== undefined} onClick={() => run(lookUp)}>
        Update all
      </Action>
      <span role="status">{progress}</span>
      {found !== undefined && (
        <Dialog title={`Update ${count(found.length, 'server')}`} onClose={() => setFound(undefined)}>
          <ul className="plain">
            {found.map(({ name, current = 'an unknown version', newest, isYoung }) => (
              <li key={name}>
                {name}: <ForeignText>{`${current} → ${newest}`}</ForeignText>
                {isYoung && <span className="problem"> published very recently</span>}
              </li>
            ))}
          </ul>
          <p className="quiet">
            Permissions and settings do not change. Changed tools wait for your approval.
          </p>
          <div className="buttons">
            <Action className="primary" onClick={() => run(install)}>
              Update
            </Action>
            <button type="button" onClick={() => setFound(undefined)}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

type Steps = (signal: AbortSignal, onStep: (step: string) => void) => Promise<void>;

/** Runs steps one after the other. A component that is unmounted begins no further step. */
function useSteps(): { progress: string | undefined; run: (steps: Steps) => Promise<void> } {
  const [progress, setProgress] = useState<string | undefined>();
  const closing = useRef<AbortController>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    closing.current = controller;
    return () => controller.abort();
  }, []);
  const run = (steps: Steps): Promise<void> => {
    const { signal } = closing.current ?? new AbortController();
    return steps(signal, (step) => !signal.aborted && setProgress(step))
      .catch((thrown: unknown) => void toast(failureOf(thrown).message))
      .finally(() => setProgress(undefined));
  };
  return { progress, run };
}
