import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';

/** A screen with its heading, which gets the focus when the user comes from another screen. */
export function Page({
  title,
  action,
  help,
  children,
}: {
  title: string;
  action?: ReactNode;
  /** The page of the documentation about this screen. */
  help?: string;
  children: ReactNode;
}): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const [location] = useLocation();
  useEffect(() => {
    document.title = `${title} – ToolHive`;
  }, [title]);
  useEffect(() => {
    if (hasNavigated) heading.current?.focus();
    hasNavigated = true;
  }, [location]);
  return (
    <>
      <header className="page-header">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div className="page-actions">
          {help !== undefined && (
            <a href={help} target="_blank" rel="noopener">
              Documentation
            </a>
          )}
          {action}
        </div>
      </header>
      {children}
    </>
  );
}

/** On the first screen, the focus stays at the start of the page. */
let hasNavigated = false;
