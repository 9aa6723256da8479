import { useLocation } from '@docusaurus/router';
import useDocusaurusContext from '@docusaurus/useDocusaurusContext';
import { useEffect, useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { markdownPath } from '../markdown-path.ts';
import styles from './page-menu.module.css';

/** A program on another site that answers questions about a page. */
export interface Assistant {
  label: string;
  /** The start of the URL, before the question. */
  href: string;
}

const labels = { idle: 'Copy page', copied: 'Copied', failed: 'Could not be copied' };

/**
 * Copies the page as Markdown, shows the Markdown, or opens the page in an assistant. Sends no request before a click.
 */
export function PageMenu(): ReactNode {
  const { pathname } = useLocation();
  const { url, customFields = {} } = useDocusaurusContext().siteConfig;
  const { assistants } = customFields as { assistants: readonly Assistant[] };
  const [state, setState] = useState<keyof typeof labels>('idle');
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const toggle = useRef<HTMLButtonElement>(null);
  const list = useId();
  const markdown = markdownPath(pathname);
  const question = encodeURIComponent(`Read ${url}${markdown}, I want to ask questions about it.`);

  useEffect(() => {
    setState('idle');
    setOpen(false);
  }, [pathname]);

  useEffect(() => {
    if (!isOpen) return undefined;
    const closeBeside = ({ target }: Event): void => {
      if (frame.current?.contains(target as Node) !== true) setOpen(false);
    };
    const left = new AbortController();
    for (const kind of ['pointerdown', 'focusin'])
      document.addEventListener(kind, closeBeside, { signal: left.signal });
    return () => left.abort();
  }, [isOpen]);

  function closeByKey({ key }: KeyboardEvent): void {
    if (key !== 'Escape' || !isOpen) return;
    setOpen(false);
    toggle.current?.focus();
  }

  return (
    <div ref={frame} className={styles['menu']} onKeyDown={closeByKey}>
      <button
        type="button"
        onClick={() => {
          copy(markdown).then(
            () => setState('copied'),
            () => setState('failed'),
          );
        }}
      >
        {labels[state]}
      </button>
      <button
        ref={toggle}
        type="button"
        aria-label="More ways to read this page"
        aria-expanded={isOpen}
        aria-controls={isOpen ? list : undefined}
        onClick={() => setOpen(!isOpen)}
      />
      <span role="status" className={styles['told']}>
        {state === 'idle' ? '' : labels[state]}
      </span>
      {isOpen && (
        <ul id={list}>
          <li>
            <a href={markdown} className={styles['link']}>
              View as Markdown
            </a>
          </li>
          {assistants.map(({ label, href }) => (
            <li key={label}>
              <a href={href + question} className={styles['link']} target="_blank" rel="noopener noreferrer">
                Open in {label}
                <small> another site</small>
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Puts a text file of this site on the clipboard. */
async function copy(path: string): Promise<void> {
  const text = fetch(path).then((answer) => {
    // Some hosts return a page for a missing file.
    if (!answer.ok || answer.headers.get('content-type')?.includes('html') === true) throw new Error(path);
    return answer.text();
  });
  // Safari requires a promise during the click. Older versions of Firefox require the finished text.
  if (typeof ClipboardItem === 'undefined') return navigator.clipboard.writeText(await text);
  const kind = 'text/plain';
  const promised = text.then((words) => new Blob([words], { type: kind }));
  return navigator.clipboard.write([new ClipboardItem({ [kind]: promised })]);
}
