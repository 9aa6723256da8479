import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { daemon } from '../api/resources.ts';
import { useResource } from '../api/store.ts';
import { ForeignText, plainForeign } from './text.tsx';

/** A screen with its heading, which gets the focus when the user comes from another screen. */
export function Page({
  title,
  part,
  action,
  help,
  children,
}: {
  title: string;
  /** The part that the screen shows, for the tab of the browser. */
  part?: string | undefined;
  action?: ReactNode;
  /** The page of the documentation about this screen. */
  help?: string;
  children: ReactNode;
}): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const [location] = useLocation();
  useEffect(() => {
    document.title = [part, title, 'ToolHive']
      .filter((text) => text !== undefined)
      .map(plainForeign)
      .join(' – ');
  }, [title, part]);
  useEffect(() => {
    if (hasNavigated) heading.current?.focus();
    hasNavigated = true;
  }, [location]);
  return (
    <>
      <header className="page-header">
        <h1 ref={heading} tabIndex={-1}>
          <ForeignText>{title}</ForeignText>
        </h1>
        <div className="page-actions">
          {help !== undefined && <DocumentationLink path={help} />}
          {action}
        </div>
      </header>
      {children}
    </>
  );
}

/** A link to a page of the documentation, if this daemon serves it. */
export function DocumentationLink({ path }: { path: string }): ReactNode {
  const { data } = useResource(daemon);
  if (data?.features.includes('documentation') !== true) return null;
  return (
    <a href={path} target="_blank" rel="noopener">
      Documentation
    </a>
  );
}

/** On the first screen, the focus stays at the start of the page. */
let hasNavigated = false;
