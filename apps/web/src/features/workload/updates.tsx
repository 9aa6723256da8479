import { useState } from 'react';
import type { ReactNode } from 'react';
import type { WorkloadUpdate } from '@toolhive/contract/update';
import { client } from '../../api/client.ts';
import { update, workload, workloads } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { dateTime } from '../../ui/format.ts';
import { NotLoaded } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.ts';

/** A newer version. A package registry is asked only on request, because each lookup tells it what runs here. */
export function Updates({ name }: { name: string }): ReactNode {
  const { data } = useResource(workloads);
  const [isAsked, setAsked] = useState(false);
  if (isAsked) return <LookedUp name={name} />;
  const known = data?.find((each) => each.name === name)?.newer_version;
  return (
    <div className={known === undefined ? 'buttons' : 'notice'}>
      {known !== undefined && (
        <p>
          Version <ForeignText>{known}</ForeignText> is available.
        </p>
      )}
      <Action onClick={() => setAsked(true)}>
        {known === undefined ? 'Look for a newer version' : 'Look again and show its changes'}
      </Action>
    </div>
  );
}

/** Looks up a newer version, and shows its changes before the installation. */
function LookedUp({ name }: { name: string }): ReactNode {
  const resource = update(name);
  const { data, error, isLoading } = useResource(resource);
  const [progress, setProgress] = useState<string | undefined>();
  if (error !== undefined) {
    return (
      <NotLoaded
        failure={error}
        title="Cannot look for a newer version"
        onRetry={() => refresh(resource.key)}
      />
    );
  }
  if (data === undefined) return isLoading && <p role="status">Asking the package registry</p>;
  const { newest, outdated, reason, current } = data;
  if (!outdated || newest === undefined) {
    return (
      <div className="buttons">
        <p role="status">
          {newest === undefined ? (
            <ForeignText>{reason ?? 'The newest version is not known.'}</ForeignText>
          ) : (
            `Version ${current ?? newest} is the newest one.`
          )}
        </p>
        <Action disabled={isLoading} onClick={() => refresh(resource.key)}>
          Look again
        </Action>
      </div>
    );
  }
  const upgrade = async (): Promise<void> => {
    setProgress('Installing');
    const isDone = await attempt('Cannot update', () =>
      client.upgradeWorkload({ params: { name }, body: { version: newest } }, { onProgress: setProgress }),
    );
    setProgress(undefined);
    if (isDone) toast(`Updated ${name} to ${newest}`);
    refresh(resource.key);
    refresh(workload(name).key);
  };
  return (
    <div className="notice">
      <p>
        Version <ForeignText>{newest}</ForeignText> is available. This server runs{' '}
        <ForeignText>{current ?? 'an unknown version'}</ForeignText>.
        {data.published_at !== undefined && ` It was published on ${dateTime(data.published_at)}.`}
      </p>
      {data.young && <p className="problem">It is younger than the setting minimum-package-age allows.</p>}
      <Changes changes={data.changes} />
      <Action className="primary" onClick={() => upgrade()}>
        Update to {newest}
      </Action>
      <p role="status">{progress !== undefined && <ForeignText>{progress}</ForeignText>}</p>
    </div>
  );
}

function Changes({ changes }: { changes: WorkloadUpdate['changes'] }): ReactNode {
  if (changes === undefined) return null;
  const { tools, hosts, dependencies, warnings } = changes;
  const lines = [
    ...difference('tool', tools),
    ...difference('host', hosts),
    ...(dependencies ?? []).map(({ name, from, to }) =>
      to === undefined
        ? { sign: '−', text: `dependency ${name} ${from ?? ''}` }
        : { sign: '+', text: `dependency ${name} ${from === undefined ? '' : `${from} → `}${to}` },
    ),
  ];
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} className="problem">
          <ForeignText>{warning}</ForeignText>
        </p>
      ))}
      {lines.length > 0 && (
        <details>
          <summary>What changes ({lines.length})</summary>
          <ul className="plain">
            {lines.map(({ sign, text }) => (
              <li key={`${sign} ${text}`} className={sign === '+' ? 'diff-added' : 'diff-removed'}>
                {sign} <ForeignText>{text}</ForeignText>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function difference(
  what: string,
  found: { added: readonly string[]; removed: readonly string[] } | undefined,
): { sign: string; text: string }[] {
  return [
    ...(found?.added ?? []).map((text) => ({ sign: '+', text: `${what} ${text}` })),
    ...(found?.removed ?? []).map((text) => ({ sign: '−', text: `${what} ${text}` })),
  ];
}
