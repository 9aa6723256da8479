import { createContext, useContext, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import { refresh, useConnection } from '../api/store.ts';
import type { Loaded } from '../api/store.ts';
import { Fixes } from './fixes.tsx';
import { inScreenWords, sentence } from './format.ts';
import { ForeignText } from './text.tsx';

/** Data that is loaded sooner never shows a skeleton, which would only flicker. */
const skeletonAfterMs = 150;

/**
 * Whether the subject of a page no longer exists, which the page says itself. Its parts then keep their content, and do not
 * all report that it is missing.
 */
export const SubjectIsGone = createContext(false);

/** Shows loaded data, or the state of the loading: skeleton, failure with a retry, or earlier data with the failure. */
export function Shown<Data>({
  loaded,
  name,
  what,
  children,
}: {
  loaded: Loaded<Data>;
  /** The key of the resource. */
  name: string;
  /** The content as a noun phrase: "the workloads". */
  what: string;
  children: (data: Data) => ReactNode;
}): ReactNode {
  const { data, error: found } = loaded;
  const isGone = useContext(SubjectIsGone);
  const error = isGone && found?.kind === 'not-found' ? undefined : found;
  if (data === undefined) {
    if (error !== found) return <p className="quiet">This part is no longer available.</p>;
    return error === undefined ? (
      <Skeleton what={what} />
    ) : (
      <NotLoaded failure={error} title={`Cannot load ${what}`} onRetry={() => refresh(name)} />
    );
  }
  return (
    <>
      {error !== undefined && error.kind !== 'unavailable' && (
        <Failure failure={error} title={`Cannot update ${what}`} onRetry={() => refresh(name)} />
      )}
      {children(data)}
    </>
  );
}

/** Placeholder lines while data is loaded. */
export function Skeleton({ what }: { what: string }): ReactNode {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), skeletonAfterMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" className="skeleton" data-visible={isVisible}>
      <span className="visually-hidden">Loading {what}</span>
      <div />
      <div />
      <div />
    </div>
  );
}

/**
 * The failure of loading a part of a screen. While the daemon does not respond, the banner of the page says so and
 * how to start it, so the part only says what becomes of it: it is loaded again after the next connection.
 */
export function NotLoaded(props: Parameters<typeof Failure>[0]): ReactNode {
  const { connection } = useConnection();
  if (connection === 'lost' && props.failure.kind === 'unavailable') {
    return <p className="quiet">This part appears when the daemon responds again.</p>;
  }
  return <Failure {...props} />;
}

/** A failure with its cause, its fix, and a way to try again. */
export function Failure({
  failure,
  title,
  onRetry,
}: {
  failure: ThvError;
  title?: string;
  onRetry?: (() => void) | undefined;
}): ReactNode {
  return (
    <div role="alert" className="notice failure">
      {title !== undefined && <strong>{title}</strong>}
      <p>
        <ForeignText>{sentence(inScreenWords(failure.message))}</ForeignText>
      </p>
      <Fixes hint={failure.hint} fixes={failure.fixes} />
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The purpose of an empty screen, and one action. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Says that a value was changed elsewhere since the user began to change it, so that the user does not undo that unknowingly. */
export function Overtaken({
  name,
  stored,
  onUse,
}: {
  name: string;
  stored: string;
  onUse: () => void;
}): ReactNode {
  return (
    <div className="notice warning" role="alert">
      <p>
        This value was changed elsewhere while you edited it. It is now{' '}
        {stored === '' ? 'empty' : <ForeignText>{stored}</ForeignText>}. If you save, yours replaces it.
      </p>
      <button type="button" aria-label={`Use the current value of ${name}`} onClick={onUse}>
        Use the current value
      </button>
    </div>
  );
}

/** Something the user should know. */
export function Notice({
  kind = 'information',
  children,
}: {
  kind?: 'information' | 'warning' | 'failure';
  children: ReactNode;
}): ReactNode {
  return <div className={`notice ${kind}`}>{children}</div>;
}
