import { WholeApi } from '@references/whole';
import { Suspense, lazy, useEffect, useRef, useState } from 'react';
import type { MouseEvent, ReactNode } from 'react';

const TryIt = lazy(async () => {
  const module = await import('./TryIt.tsx');
  return { default: module.TryIt };
});

/** The reference of the API, and the little that moves in it. */
export function ApiReference(): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  const [tried, setTried] = useState<string>();

  useEffect(() => {
    const follow = (): void => markPlace(root.current);
    root.current?.setAttribute('data-live', ''); // now the buttons do something
    follow();
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);

  return (
    <div ref={root} className="api" onClick={({ target }: MouseEvent) => act(target, setTried)}>
      <WholeApi />
      {tried !== undefined && (
        <Suspense>
          <TryIt key={tried} operationId={tried} onClose={() => setTried(undefined)} />
        </Suspense>
      )}
    </div>
  );
}

function act(target: EventTarget, onTry: (operationId: string) => void): void {
  const button = target instanceof Element ? target.closest('button') : null;
  const { try: operationId, copy } = button?.dataset ?? {};
  if (operationId !== undefined) onTry(operationId);
  if (button !== null && copy !== undefined) void copyExample(button);
}

async function copyExample(button: HTMLButtonElement): Promise<void> {
  const examples = button.closest('.api-examples')?.querySelectorAll('pre') ?? [];
  const shown = [...examples].find((example) => example.offsetParent !== null);
  // A browser may refuse; then the text can still be selected.
  const copied = await navigator.clipboard.writeText(shown?.textContent ?? '').then(
    () => true,
    () => false,
  );
  button.textContent = copied ? 'Copied' : 'Not copied';
  setTimeout(() => (button.textContent = 'Copy'), 2000);
}

/** Unfolds the part of the contents that the address is about, and marks the place there. */
function markPlace(root: HTMLElement | null): void {
  const id = decodeURIComponent(window.location.hash);
  for (const link of root?.querySelectorAll<HTMLAnchorElement>('.api-contents a') ?? []) {
    const isHere = link.hash === id && id !== '';
    if (isHere) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
    const group = isHere ? link.closest('details') : null;
    if (group !== null) group.open = true;
  }
}
