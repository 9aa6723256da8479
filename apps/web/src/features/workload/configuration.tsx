import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { useLocation } from 'wouter';
import { workload } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { CheckedPermissions } from '../../ui/checked.tsx';
import { Form } from '../../ui/fields.tsx';
import { Launch, useAttempts } from '../../ui/launch.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { draftOfWorkload, requestOf } from '../../ui/workload-draft.ts';
import type { Draft } from '../../ui/workload-draft.ts';
import { WorkloadForm } from '../../ui/workload-form.tsx';
import { Details } from './details.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { Updates } from './updates.tsx';

/** How a workload is set up: its settings with their changes, its origin, and its newer versions. */
export function Configuration(): ReactNode {
  const name = useWorkloadName();
  const resource = workload(name);
  const loaded = useResource(resource);
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={loaded} name={resource.key} what="the server">
        {(details) => <EditForm key={name} details={details} />}
      </Shown>
    </WorkloadFrame>
  );
}

function EditForm({ details }: { details: WorkloadDetails }): ReactNode {
  // The form keeps the user's edits when the workload changes its status.
  const [original, setOriginal] = useState(details);
  const [draft, setDraft] = useState(() => draftOfWorkload(details));
  const form = useRef<HTMLFormElement>(null);
  const attempts = useAttempts();
  const [, navigate] = useLocation();
  const changes = differences(requestOf(draftOfWorkload(original)), requestOf(draft));
  const isOutdated = original.revision !== details.revision;
  return (
    <div className="columns">
      <Form ref={form} failure={attempts.failure}>
        {isOutdated && (
          <div className="notice warning" role="alert">
            <p>The server was changed elsewhere while you edited it.</p>
            <button
              type="button"
              onClick={() => {
                setOriginal(details);
                setDraft(draftOfWorkload(details));
              }}
            >
              Start over with the current settings
            </button>
          </div>
        )}
        <WorkloadForm
          draft={draft}
          onChange={setDraft}
          source={details.remote ? 'remote' : 'package'}
          isNameFixed
        />
        <Launch
          draft={draft}
          attempts={attempts}
          edited={details.name}
          revision={original.revision}
          isValid={() => form.current?.reportValidity() === true}
          onDone={(name) => navigate(`/w/${encodeURIComponent(name)}`)}
        />
        <button
          type="button"
          disabled={changes.length === 0}
          onClick={() => setDraft(draftOfWorkload(original))}
        >
          Discard
        </button>
      </Form>
      <aside>
        {!details.remote && <Updates key={details.name} name={details.name} />}
        {!details.remote && (
          <>
            <h2>What the server may do</h2>
            <CheckedPermissions draft={draft} isRunning={attempts.isRunning} edited={details.name} />
          </>
        )}
        <h2>Changes</h2>
        {changes.length === 0 ? (
          <p className="quiet">Nothing is changed.</p>
        ) : (
          <dl className="pairs">
            {changes.map(({ field, before, after }) => (
              <div key={field}>
                <dt>{field.replaceAll('_', ' ')}</dt>
                <dd>
                  <span className="diff-removed">
                    − <ForeignText>{before}</ForeignText>
                  </span>
                  <br />
                  <span className="diff-added">
                    + <ForeignText>{after}</ForeignText>
                  </span>
                </dd>
              </div>
            ))}
          </dl>
        )}
        <h2>Details</h2>
        <Details details={details} />
        <div className="buttons">
          <CopyButton text={asCurl(draft)} label="Copy as curl" what={`to run ${details.name}`} />
        </div>
      </aside>
    </div>
  );
}

/** The request that creates the same workload. It contains the names of secrets and none of their values. */
function asCurl(draft: Draft): string {
  const body = JSON.stringify(requestOf(draft)).replaceAll("'", `'\\''`);
  const url = `${location.origin}/api/v1beta/workloads`;
  return `curl ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`;
}

interface Difference {
  field: string;
  before: string;
  after: string;
}

function differences(before: object, after: object): Difference[] {
  const [old, next] = [before, after] as Record<string, unknown>[];
  const fields = new Set([...Object.keys(old ?? {}), ...Object.keys(next ?? {})]);
  return [...fields].flatMap((field) => {
    const [left, right] = [old?.[field], next?.[field]].map((value) =>
      value === undefined ? 'not set' : JSON.stringify(value),
    );
    return left === right || left === undefined || right === undefined
      ? []
      : [{ field, before: left, after: right }];
  });
}
