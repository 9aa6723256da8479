import { useState } from 'react';
import type { ReactNode } from 'react';

/** Copies a text and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  className,
}: {
  text: string;
  label?: string;
  className?: string;
}): ReactNode {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState('done');
    } catch {
      setState('failed'); // the browser does not allow it, for example on a page that is not focused
    }
    setTimeout(() => setState('idle'), 2_000);
  };
  return (
    <button type="button" className={className} onClick={() => void copy()}>
      <span aria-live="polite">{{ idle: label, done: 'Copied', failed: 'Cannot copy' }[state]}</span>
    </button>
  );
}
