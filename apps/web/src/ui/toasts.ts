import type { Advice } from '@toolhive/contract/fix';
import type { ThvError } from '@toolhive/contract/failure';
import { failureOf } from '../api/store.ts';
import { inScreenWords } from './format.ts';

export interface Toast {
  id: number;
  text: string;
  advice?: Partial<Advice>;
  kind: 'information' | 'failure';
  action?: { label: string; run: () => void } | undefined;
}

let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** How many messages without an action are shown at once. One with an action stays until its time ends. */
const maxPlain = 4;

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function show(added: Toast): void {
  const plain = [...toasts, added].filter(({ action }) => action === undefined);
  const oldest = new Set(plain.slice(0, -maxPlain));
  change([...toasts, added].filter((toast) => !oldest.has(toast)));
}

export function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

/** How long a message is shown. Failures stay until they are dismissed. */
const shownMs = 5_000;

/** Shows a message for a few seconds. */
export function toast(text: string, action?: Toast['action']): number {
  const id = nextId++;
  show({ id, text, action, kind: 'information' });
  setTimeout(() => dismiss(id), shownMs);
  return id;
}

/** Shows a failure until it is dismissed. */
export function toastFailure(what: string, failure: ThvError): void {
  const id = nextId++;
  show({ id, text: `${what}: ${inScreenWords(failure.message)}`, advice: failure, kind: 'failure' });
}

/** Runs an action, and shows why it failed if it does. Returns whether it succeeded. */
export async function attempt(what: string, action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (thrown) {
    toastFailure(what, failureOf(thrown));
    return false;
  }
}

/** How long a destructive action can be undone. */
const undoMs = 5_000;

/** Announces an action, and runs it after a few seconds unless the user undoes it. A closed tab runs it at once. */
export function withUndo(text: string, { run, onUndo }: { run: () => void; onUndo: () => void }): void {
  const finish = (): void => {
    clearTimeout(timer);
    window.removeEventListener('pagehide', finish);
    dismiss(id);
    run();
  };
  const end = (): void => {
    // The time of a user who has reached the messages with the keyboard does not end before they leave.
    if (document.querySelector('.toasts:focus-within') === null) finish();
    else timer = setTimeout(end, undoMs);
  };
  const id = nextId++;
  let timer = setTimeout(end, undoMs);
  window.addEventListener('pagehide', finish);
  const undo = (): void => {
    clearTimeout(timer);
    window.removeEventListener('pagehide', finish);
    onUndo();
  };
  show({ id, text, action: { label: 'Undo', run: undo }, kind: 'information' });
}

/** For `useSyncExternalStore`. */
export function subscribeToToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function shownToasts(): readonly Toast[] {
  return toasts;
}
