import { useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { useLocation } from 'wouter';
import { workloads } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import {
  isActive,
  removeWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
} from '../../ui/actions.ts';
import { chooseTheme, themes } from '../../ui/theme.ts';
import { attempt } from '../../ui/toasts.ts';

interface Command {
  label: string;
  run: () => void;
}

/** The maximum number of shown commands. The search finds the others. */
const maxShown = 50;

/** Finds screens and runs actions by name (ARIA Authoring Practices, combobox with a listbox). */
export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const query = useDeferredValue(text);
  const commands = useCommands();
  const shown = useMemo(() => matching(commands, query).slice(0, maxShown), [commands, query]);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    document.getElementById(`${id}-${selected}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, selected]);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    dialog.current?.close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const next = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1 + shown.length,
      PageDown: Math.min(selected + 10, shown.length - 1),
      PageUp: Math.max(selected - 10, 0),
    }[event.key];
    if (next !== undefined && shown.length > 0) {
      event.preventDefault();
      setSelected(next % shown.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      // The list may still show the results of an earlier text.
      run(matching(commands, text)[selected]);
    }
  };
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Search and commands"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) event.currentTarget.close();
      }}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${id}-${selected}` : undefined}
        aria-label="Search servers, screens, and actions"
        placeholder="Search servers, screens, and actions"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setSelected(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={id} aria-label="Results">
        {shown.map((command, index) => (
          // The keyboard is handled by the text field, which keeps the focus.
          <div
            key={command.label}
            role="option"
            id={`${id}-${index}`}
            aria-selected={index === selected}
            onClick={() => run(command)}
            onPointerMove={() => setSelected(index)}
          >
            {command.label}
          </div>
        ))}
      </div>
      <p className="quiet" role="status">
        {shown.length === 0 ? 'Nothing matches' : ''}
      </p>
    </dialog>
  );
}

function useCommands(): readonly Command[] {
  const [, navigate] = useLocation();
  const { data = [] } = useResource(workloads);
  return useMemo(() => {
    const open = (label: string, path: string): Command => ({ label, run: () => navigate(path) });
    return [
      ...data.flatMap((workload) => commandsOf(workload, open)),
      open('Servers', '/'),
      open('Get started', '/welcome'),
      open('Add a server from the registry', '/add'),
      open('Add a package or an image', '/add?tab=package'),
      open('Add a remote server', '/add?tab=remote'),
      open('Paste a configuration or a command', '/add?tab=paste'),
      open('Groups', '/groups'),
      open('Clients', '/clients'),
      open('Secrets', '/secrets'),
      open('Registries', '/registries'),
      open('Activity', '/activity'),
      open('Doctor', '/doctor'),
      open('Settings', '/settings'),
      ...themes.map((theme) => ({ label: `Theme: ${theme}`, run: () => chooseTheme(theme) })),
    ];
  }, [data, navigate]);
}

/** Every action of a workload. */
function commandsOf(workload: Workload, open: (label: string, path: string) => Command): Command[] {
  const { name, url } = workload;
  const path = `/w/${encodeURIComponent(name)}`;
  return [
    open(name, path),
    isActive(workload)
      ? { label: `${name}: stop`, run: () => void stopWorkloads([name]) }
      : { label: `${name}: start`, run: () => void startWorkloads([name]) },
    { label: `${name}: restart`, run: () => void restartWorkloads([name]) },
    open(`${name}: tools`, `${path}/tools`),
    open(`${name}: traffic`, `${path}/traffic`),
    open(`${name}: network`, `${path}/network`),
    open(`${name}: logs`, `${path}/logs`),
    open(`${name}: edit`, `${path}/edit`),
    open(`${name}: duplicate`, `/add?duplicate=${encodeURIComponent(name)}`),
    ...(url === ''
      ? []
      : [
          {
            label: `${name}: copy URL`,
            run: () => void attempt('Cannot copy', () => navigator.clipboard.writeText(url)),
          },
        ]),
    { label: `${name}: remove`, run: () => removeWorkloads([name]) },
  ];
}

/** The commands that contain all words, those first whose text starts with the query. */
function matching(commands: readonly Command[], query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  const [first = ''] = words;
  const isDirect = ({ label }: Command): boolean => label.toLowerCase().startsWith(first);
  return [...found.filter(isDirect), ...found.filter((command) => !isDirect(command))];
}
