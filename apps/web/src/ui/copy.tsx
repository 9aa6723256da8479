import { useState } from 'react';
import type { ReactNode } from 'react';
import { plainForeign } from './text.tsx';

/** Copies a text and says so. */
export function CopyButton({
  text,
  label,
  what,
  className,
}: {
  text: string;
  label: string;
  /** The end of the name of the button, for a page with several: "of NAME". */
  what: string;
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
  const shown = { idle: label, done: 'Copied', failed: 'Cannot copy' }[state];
  return (
    <button
      type="button"
      className={className}
      aria-label={`${shown} ${plainForeign(what)}`.trim()}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{shown}</span>
    </button>
  );
}
