import type { ReactNode } from 'react';
import { Dialog } from '../../ui/dialog.tsx';

const shortcuts = [
  ['Ctrl K or ⌘ K', 'Search and commands'],
  ['?', 'This list'],
  ['Escape', 'Close a dialog or a menu'],
  ['/', 'Search in logs and lists of the current screen'],
] as const;

/** The list of keyboard shortcuts. */
export function Shortcuts({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="pairs">
        {shortcuts.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
