import { useState } from 'react';
import type { ReactNode } from 'react';
import type { DaemonEvent } from '@toolhive/contract/event';
import type { Workload } from '@toolhive/contract/workload';
import { useEvents } from '../../api/store.ts';
import { ForeignText } from '../../ui/text.tsx';

/** The installations of workloads that do not exist yet, from this page and from other programs. */
export function Installations({ known }: { known: readonly Workload[] }): ReactNode {
  const [messages, setMessages] = useState<ReadonlyMap<string, string>>(new Map());
  const [onEvent] = useState(
    () => (event: DaemonEvent) => setMessages((current) => messagesAfter(current, event)),
  );
  useEvents(onEvent);
  const names = new Set(known.map(({ name }) => name));
  const installing = [...messages].filter(([name]) => !names.has(name));
  if (installing.length === 0) return null;
  return (
    <section aria-labelledby="installing">
      <h2 id="installing">Installing</h2>
      <ul className="rows">
        {installing.map(([name, message]) => (
          <li key={name} className="row">
            <div className="row-main">
              <span className="row-title">{name}</span>
              <span className="quiet">
                <ForeignText>{message}</ForeignText>
              </span>
            </div>
            <progress aria-label={`Installation of ${name}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The latest message by the name of the workload. */
function messagesAfter(
  current: ReadonlyMap<string, string>,
  event: DaemonEvent,
): ReadonlyMap<string, string> {
  if (event.type === 'reset') return new Map();
  const isEnd = event.type === 'workload.changed' || event.type === 'workload.removed';
  if (event.type !== 'workload.progress' && !(isEnd && current.has(event.name))) return current;
  const next = new Map(current);
  if (event.type === 'workload.progress') next.set(event.name, event.message);
  else next.delete(event.name);
  return next;
}
