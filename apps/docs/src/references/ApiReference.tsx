import { WholeApi } from '@references/whole';
import { Suspense, lazy, useEffect, useRef, useState } from 'react';
import type { MouseEvent, ReactNode } from 'react';

const TryIt = lazy(async () => {
  const module = await import('./TryIt.tsx');
  return { default: module.TryIt };
});

/** The API reference and its interactive parts. */
export function ApiReference(): ReactNode {
  const root = useRef<HTMLDivElement>(null);
  const [tried, setTried] = useState<string>();

  useEffect(() => {
    root.current?.setAttribute('data-live', ''); // from here on, the buttons work
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
  button.textContent = (await isCopied(shown?.textContent ?? '')) ? 'Copied' : 'Not copied';
  setTimeout(() => (button.textContent = 'Copy'), 2000);
}

/** A browser can refuse access to the clipboard, and has none over plain HTTP. The text can still be selected. */
async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
