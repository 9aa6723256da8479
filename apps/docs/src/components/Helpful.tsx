import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { sendFeedback } from './send-feedback.ts';
import styles from './feedback.module.css';

const told = {
  sending: '',
  sent: 'Thank you. It has been sent.',
  failed: 'It could not be sent. Try again later.',
};

const thumb =
  'M2 10h4v11H2zM8 10l4-8c1.7 0 3 1.3 3 3v4h5.5c1 0 1.7.9 1.5 1.9l-1.6 8.5c-.1.9-1 1.6-1.9 1.6H8z';

/** Asks at the end of a page whether the page helped, and sends the answer to the feedback address. */
export function Helpful({ to }: { to: string }): ReactNode {
  const question = useId();
  const [state, setState] = useState<keyof typeof told>();

  async function answer(helpful: boolean): Promise<void> {
    setState('sending');
    setState((await sendFeedback(to, { helpful })) ? 'sent' : 'failed');
  }

  return (
    <div role="group" aria-labelledby={question} className={styles['helpful']}>
      <span id={question}>Was this page helpful?</span>
      {([true, false] as const).map((helpful) => (
        <button
          key={String(helpful)}
          type="button"
          disabled={state === 'sending' || state === 'sent'}
          onClick={() => void answer(helpful)}
        >
          <svg viewBox="0 0 24 24" width="16" height="16" fill="currentColor" aria-hidden="true">
            <path d={thumb} transform={helpful ? undefined : 'rotate(180 12 12)'} />
          </svg>
          {helpful ? 'Yes' : 'No'}
        </button>
      ))}
      <span role="status">{state && told[state]}</span>
    </div>
  );
}
