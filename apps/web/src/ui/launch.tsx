import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import { risks, risksIn } from '@toolhive/contract/risk';
import type { Risk } from '@toolhive/contract/risk';
import { client } from '../api/client.ts';
import { failureOf, refresh } from '../api/store.ts';
import { Action } from './action.tsx';
import { CopyButton } from './copy.tsx';
import { Failure } from './states.tsx';
import { ForeignText } from './text.tsx';
import { toast, toastFailure } from './toasts.ts';
import { asCommand, requestOf } from './workload-draft.ts';
import type { Draft } from './workload-draft.ts';

/** The attempts of a form to run its server, for the parts of the page beside the button. */
export interface Attempts {
  isRunning: boolean;
  /** The failure of the last attempt, which the form shows beside its fields. */
  failure: ThvError | undefined;
  set: (state: Omit<Attempts, 'set'>) => void;
}

export function useAttempts(): Attempts {
  const [state, set] = useState<Omit<Attempts, 'set'>>({ isRunning: false, failure: undefined });
  return { ...state, set };
}

interface Props {
  draft: Draft;
  /** The workload to change. Absent to create one. */
  edited?: string;
  /** The revision that the user has edited. The daemon refuses to save if there is another one. */
  revision?: string;
  /** Whether the browser accepts the fields of the form. */
  isValid: () => boolean;
  onDone: (name: string) => void;
  attempts: Attempts;
}

/** Runs a draft: stores its new secrets, asks for consent to dangerous access, and shows the progress. */
export function Launch({ draft, edited, revision, isValid, onDone, attempts }: Props): ReactNode {
  const [progress, setProgress] = useState<readonly string[]>([]);
  const [asked, setAsked] = useState<readonly Risk[]>([]);
  const [accepted, setAccepted] = useState<readonly Risk[]>([]);
  const [controller, setController] = useState<AbortController | undefined>();
  // The next attempt uses the same secrets again.
  const stored = useRef(new Map<string, string>());
  const hasLeft = useRef(false);
  useEffect(() => {
    hasLeft.current = false;
    const secretsOfForm = stored.current;
    const removeUnused = (): void => void removeSecrets(secretsOfForm);
    window.addEventListener('pagehide', removeUnused);
    return () => {
      hasLeft.current = true;
      window.removeEventListener('pagehide', removeUnused);
      removeUnused();
    };
  }, []);

  const launch = async (): Promise<void> => {
    if (!isValid()) return;
    const current = new AbortController();
    setController(current);
    attempts.set({ isRunning: true, failure: undefined });
    let failure: ThvError | undefined;
    setProgress([]);
    // While the attempt lasts, its secrets belong to the workload.
    const names = new Map(stored.current);
    stored.current.clear();
    try {
      await storeSecrets(draft, names);
      const body = { ...requestOf(draft, names), accepted_risks: [...accepted] };
      const options = {
        signal: current.signal,
        onProgress: (line: string) => setProgress((lines) => [...lines.slice(-199), line]),
      };
      const { name } =
        edited === undefined
          ? await client.createWorkload({ body }, options)
          : await client.editWorkload(
              {
                params: { name: edited },
                headers: { 'if-match': revision === undefined ? undefined : `"${revision}"` },
                body,
              },
              options,
            );
      refresh('workloads');
      // A page that someone reads must not be replaced by another one.
      if (hasLeft.current) toast(`${name} ${edited === undefined ? 'runs' : 'is saved and runs again'}`);
      else onDone(name);
    } catch (thrown) {
      for (const [name, key] of names) stored.current.set(name, key);
      const failed = failureOf(thrown);
      if (hasLeft.current) {
        void removeSecrets(stored.current);
        if (!current.signal.aborted) toastFailure(cannot(draft, edited), failed);
      }
      const required = risksIn(failed.message);
      if (required.length > 0) setAsked(required);
      else if (!current.signal.aborted) failure = failed;
      // The form shows changes from elsewhere as soon as they are loaded.
      if (failed.kind === 'precondition-failed' && edited !== undefined) refresh(`workload/${edited}`);
    } finally {
      setController(undefined);
      attempts.set({ isRunning: false, failure });
    }
  };
  const { failure } = attempts;
  const isConsentOpen = asked.some((risk) => !accepted.includes(risk));
  return (
    <>
      {asked.length > 0 && (
        <fieldset className="notice warning">
          <legend>This gives the server dangerous access</legend>
          {asked.map((risk) => (
            <label key={risk} className="choice">
              <input
                type="checkbox"
                checked={accepted.includes(risk)}
                onChange={({ target }) =>
                  setAccepted(
                    target.checked ? [...accepted, risk] : accepted.filter((other) => other !== risk),
                  )
                }
              />
              I accept that it gets {risks[risk]}
            </label>
          ))}
        </fieldset>
      )}
      {failure !== undefined && (
        <Failure failure={failure} title={edited === undefined ? 'Cannot run the server' : 'Cannot save'} />
      )}
      <div className="buttons">
        <Action
          type="submit"
          className="primary"
          disabled={isConsentOpen}
          onClick={(event) => {
            event.preventDefault();
            return launch();
          }}
        >
          {edited === undefined ? 'Run' : 'Save and restart'}
        </Action>
        {controller !== undefined && (
          <button type="button" onClick={() => controller.abort()}>
            Cancel
          </button>
        )}
        <CopyButton text={asCommand(draft)} label="Copy as thv run" what={draft.name} />
      </div>
      <div role="status" aria-live="polite">
        {controller !== undefined && <progress aria-label="Installation" />}
        {progress.length > 0 && (
          <pre>
            <ForeignText>{progress.join('\n')}</ForeignText>
          </pre>
        )}
      </div>
    </>
  );
}

function cannot({ name }: Draft, edited: string | undefined): string {
  if (edited !== undefined) return `Cannot save ${edited}`;
  return `Cannot run ${name === '' ? 'the server' : name}`;
}

/** Removes secrets that were stored for a workload that does not exist. */
async function removeSecrets(stored: Map<string, string>): Promise<void> {
  const keys = [...stored.values()];
  stored.clear();
  if (keys.length === 0) return;
  // A secret can be gone already, for example because of `thv secret delete`.
  await Promise.allSettled(keys.map((key) => client.deleteSecret({ params: { key } })));
  refresh('secrets');
}

/** Stores the new secrets of a draft under unused names. */
async function storeSecrets(draft: Draft, stored: Map<string, string>): Promise<void> {
  const fresh = draft.variables.filter(
    ({ kind, value, name }) => kind === 'new-secret' && value !== '' && name !== '',
  );
  if (fresh.length === 0) return;
  const provider = await client.getSecretsProvider({}).catch(() => undefined); // there is none yet
  if (provider === undefined)
    await client.setupSecrets({ body: { provider_type: 'encrypted', generate_password: true } });
  const { keys } = await client.listSecrets({});
  const taken = new Set(keys.map(({ key }) => key));
  for (const { name, value } of fresh) {
    const before = stored.get(name);
    if (before !== undefined) {
      await client.updateSecret({ params: { key: before }, body: { value } });
      continue;
    }
    const base = `${draft.name || draft.image || 'server'}-${name}`
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '');
    const key =
      [base, ...Array.from({ length: 100 }, (_none, index) => `${base}-${index + 2}`)].find(
        (each) => !taken.has(each),
      ) ?? base;
    await client.createSecret({ body: { key, value } });
    stored.set(name, key);
    taken.add(key);
  }
  refresh('secrets');
}
