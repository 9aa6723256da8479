import { type JSX, useCallback, useEffect, useRef, useState } from 'react';
import Link from '@docusaurus/Link';
import type { Quote } from './ask.ts';
import styles from './modal.module.css';
import { Failure } from './screens.tsx';

interface Asked {
  id: number;
  question: string;
  quotes: readonly Quote[] | 'wanted' | 'failed';
}

interface Passages {
  /** The newest first. */
  asked: readonly Asked[];
  ask: (question: string, quotePassages: (question: string) => Promise<readonly Quote[]>) => void;
}

/** The questions of this visit to the asking mode, with what the documentation says about each. */
export function useAskedPassages(isActive: boolean): Passages {
  const [asked, setAsked] = useState<readonly Asked[]>([]);
  const next = useRef(0);

  useEffect(() => {
    if (!isActive) setAsked([]);
  }, [isActive]);

  const ask = useCallback<Passages['ask']>((question, quotePassages) => {
    next.current += 1;
    const id = next.current;
    const settle = (quotes: Asked['quotes']): void =>
      setAsked((all) => all.map((one) => (one.id === id ? { ...one, quotes } : one)));
    setAsked((all) => [{ id, question, quotes: 'wanted' }, ...all]);
    quotePassages(question).then(settle, () => settle('failed'));
  }, []);

  return { asked, ask };
}

/** Questions with the passages that have their words. */
export function AskedPassages({
  asked,
  onFollow,
}: {
  asked: readonly Asked[];
  onFollow: () => void;
}): JSX.Element {
  return (
    <div className={styles['passages']} aria-live="polite">
      {asked.map(({ id, question, quotes }) => (
        <section key={id} aria-label={question}>
          <p className={styles['question']}>{question}</p>
          <Answer quotes={quotes} onFollow={onFollow} />
        </section>
      ))}
    </div>
  );
}

function Answer({ quotes, onFollow }: { quotes: Asked['quotes']; onFollow: () => void }): JSX.Element {
  if (quotes === 'failed') return <Failure />;
  if (quotes === 'wanted') return <p>Looking…</p>;
  if (quotes.length === 0) return <p>No passage of this documentation has any of these words.</p>;
  return (
    <>
      {quotes.map(({ url, trail, html }) => (
        <figure key={url}>
          {/* The text was made HTML by escaping it. */}
          <blockquote dangerouslySetInnerHTML={{ __html: html }} />
          <figcaption>
            <Link to={url} onClick={onFollow}>
              {trail.join(' › ')}
            </Link>
          </figcaption>
        </figure>
      ))}
    </>
  );
}
