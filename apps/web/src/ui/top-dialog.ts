import { useSyncExternalStore } from 'react';

let dialogs: readonly HTMLElement[] = [];
const listeners = new Set<() => void>();

function change(next: readonly HTMLElement[]): void {
  dialogs = next;
  for (const listener of listeners) listener();
}

/** Notes that a modal dialog is open, until the result is called. */
export function enterDialog(dialog: HTMLElement): () => void {
  change([...dialogs, dialog]);
  return () => change(dialogs.filter((each) => each !== dialog));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The modal dialog above all others. Everything outside of it can be neither operated nor read by a screen reader. */
export function useTopDialog(): HTMLElement | undefined {
  return useSyncExternalStore(subscribe, () => dialogs.at(-1));
}
