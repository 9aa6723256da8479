import { useId, useRef, useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { isIssueForm, sendFeedback } from './send-feedback.ts';
import styles from './feedback.module.css';

type State = 'asking' | 'sending' | 'sent' | 'failed';

/**
 * A dark button at the bottom right that opens a feedback form. The form sends the feedback to `to` as JSON. If `to` is
 * the form for new issues of a code host (`…/issues/new`), the button opens that form with the feedback filled in.
 */
export function Feedback({ to }: { to: string }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<State>('asking');
  const field = useId();
  const opensIssue = isIssueForm(to);

  async function send(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const message = event.currentTarget.querySelector('textarea')?.value ?? '';
    if (opensIssue) {
      const issue = new URL(to);
      issue.searchParams.set('title', `Documentation: ${window.location.pathname}`);
      issue.searchParams.set('body', message);
      window.open(issue, '_blank', 'noopener,noreferrer');
      dialog.current?.close();
      return;
    }
    setState('sending');
    setState((await sendFeedback(to, { message })) ? 'sent' : 'failed');
  }

  function open(): void {
    setState('asking');
    dialog.current?.showModal();
  }

  return (
    <>
      <button type="button" className={styles.button} onClick={open}>
        Feedback
      </button>
      <dialog ref={dialog} className={styles.dialog} aria-labelledby={`${field}-title`}>
        <h2 id={`${field}-title`} className={styles.title}>
          What is missing, wrong or unclear here?
        </h2>
        {state === 'sent' ? (
          <p role="status">Thank you. It has been sent.</p>
        ) : (
          <form onSubmit={(event) => void send(event)}>
            <label htmlFor={field}>Your words, with nothing private in them</label>
            <textarea id={field} name="message" rows={5} required maxLength={4000} />
            {state === 'failed' && <p role="alert">It could not be sent. Try again later.</p>}
            <button type="submit" className="button button--primary" disabled={state === 'sending'}>
              {opensIssue ? 'Open an issue' : 'Send'}
            </button>
          </form>
        )}
        <button type="button" className={styles.close} onClick={() => dialog.current?.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}
