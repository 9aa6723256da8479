import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { TrafficDetails, TrafficEntry } from '@toolhive/contract/traffic';
import { client } from '../../api/client.ts';
import { traffic } from '../../api/resources.ts';
import { refresh, useConnection, useResource } from '../../api/store.ts';
import { useVisible } from '../../api/visible.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { bytes, count, dateTime, duration } from '../../ui/format.ts';
import { Notice, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { Table } from '../../ui/table.tsx';

/** The most rows that are shown. The daemon keeps as many. */
const maxRows = 1_000;

/** The calls of clients as they happen. */
export function Traffic(): ReactNode {
  const name = useWorkloadName();
  const resource = traffic(name);
  const loaded = useResource(resource);
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={loaded} name={resource.key} what="the traffic">
        {({ entries, is_read: isRead, recording }) => (
          <>
            {!isRead && (
              <Notice>
                Messages of this workload pass through the proxy unread, so only their HTTP requests are
                listed.
              </Notice>
            )}
            <Recording
              isOn={recording.bodies}
              maxTotal={recording.max_total_bytes}
              onChange={(bodies) =>
                void attempt('Cannot change the recording', async () => {
                  await client.changeTrafficRecording({ params: { name }, body: { bodies } });
                  refresh(resource.key);
                })
              }
            />
            <LiveEntries key={name} name={name} first={entries} />
          </>
        )}
      </Shown>
    </WorkloadFrame>
  );
}

function Recording({
  isOn,
  maxTotal,
  onChange,
}: {
  isOn: boolean;
  maxTotal: number;
  onChange: (bodies: boolean) => void;
}): ReactNode {
  return (
    <p>
      {isOn
        ? `Requests and responses are recorded in memory, without secrets, up to ${bytes(maxTotal)}.`
        : 'Requests and responses are not recorded.'}{' '}
      <Action onClick={() => onChange(!isOn)}>{isOn ? 'Stop recording' : 'Record them'}</Action>
    </p>
  );
}

function LiveEntries({ name, first }: { name: string; first: readonly TrafficEntry[] }): ReactNode {
  const [entries, setEntries] = useState<readonly TrafficEntry[]>(first.toReversed());
  const [isPaused, setPaused] = useState(false);
  const [filter, setFilter] = useState('');
  const [outcome, setOutcome] = useState('');
  const [open, setOpen] = useState<TrafficDetails | undefined>();
  useLiveTraffic(name, isPaused, (found) =>
    setEntries((current) => {
      const known = new Set(current.slice(0, found.length + 50).map(({ id }) => id));
      return [...found.filter(({ id }) => !known.has(id)).toReversed(), ...current].slice(0, maxRows);
    }),
  );
  const words = filter.toLowerCase();
  const shown = entries.filter(
    (entry) =>
      (outcome === '' || entry.outcome === outcome) &&
      [entry.method, entry.name, entry.client?.name].some(
        (text) => text?.toLowerCase().includes(words) ?? words === '',
      ),
  );
  return (
    <>
      <div className="toolbar">
        <input
          type="search"
          value={filter}
          placeholder="Filter by method, tool, or client"
          aria-label="Filter calls"
          onChange={({ target }) => setFilter(target.value)}
        />
        <select value={outcome} aria-label="Outcome" onChange={({ target }) => setOutcome(target.value)}>
          <option value="">Every outcome</option>
          <option value="ok">ok</option>
          <option value="error">error</option>
          <option value="denied">denied</option>
          <option value="cancelled">canceled</option>
        </select>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
        <span className="quiet" role="status">
          {count(shown.length, 'call')}
        </span>
      </div>
      {entries.length === 0 ? (
        <p>No client has called this server since the daemon started.</p>
      ) : (
        <Table
          label="Calls"
          columns={[
            'Time',
            'Client',
            'Method',
            'Name',
            { number: 'Duration' },
            { number: 'Size' },
            'Outcome',
            { actions: 'Actions' },
          ]}
        >
          {shown.map((entry) => (
            <Row
              key={entry.id}
              entry={entry}
              onOpen={() =>
                void attempt('Cannot read the call', async () =>
                  setOpen(await client.getTrafficEntry({ params: { name, id: String(entry.id) } })),
                )
              }
            />
          ))}
        </Table>
      )}
      {open !== undefined && <Details details={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function Row({ entry, onOpen }: { entry: TrafficEntry; onOpen: () => void }): ReactNode {
  const { at, client: caller, source, direction, method, name, duration_ms: ms, outcome, reason } = entry;
  return (
    <tr>
      <td>{new Date(at).toLocaleTimeString()}</td>
      <td>
        <ForeignText>{caller?.name ?? ''}</ForeignText>{' '}
        {source === 'ui' && <span className="badge">web UI</span>}
      </td>
      <td>
        <ForeignText>{method}</ForeignText>{' '}
        {direction === 'to-client' && <span className="badge">to client</span>}
      </td>
      <td>
        <ForeignText>{name ?? ''}</ForeignText>
      </td>
      <td className="number">{ms === undefined ? '' : duration(ms)}</td>
      <td className="number">{bytes((entry.request_bytes ?? 0) + (entry.response_bytes ?? 0))}</td>
      <td className={outcome === 'ok' ? 'good' : 'problem'}>
        {outcome === 'cancelled' ? 'canceled' : outcome}
        {reason !== undefined && (
          <>
            : <ForeignText>{reason}</ForeignText>
          </>
        )}
      </td>
      <td>
        <button type="button" aria-label={`Show call ${entry.id}`} onClick={onOpen}>
          Show
        </button>
      </td>
    </tr>
  );
}

function Details({
  details: { entry, request, response },
  onClose,
}: {
  details: TrafficDetails;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog title={`Call ${entry.id}`} onClose={onClose}>
      <dl className="pairs">
        {(
          [
            ['Time', dateTime(entry.at)],
            ['Method', entry.method],
            ['Name', entry.name],
            ['Client', entry.client && `${entry.client.name} ${entry.client.version ?? ''}`],
            ['Protocol version', entry.protocol_version],
            ['Session', entry.session],
            ['Duration', entry.duration_ms === undefined ? undefined : duration(entry.duration_ms)],
            ['Outcome', entry.reason === undefined ? entry.outcome : `${entry.outcome}: ${entry.reason}`],
          ] as const
        ).map(
          ([term, text]) =>
            text !== undefined && (
              <div key={term}>
                <dt>{term}</dt>
                <dd>
                  <ForeignText>{text}</ForeignText>
                </dd>
              </div>
            ),
        )}
      </dl>
      {[['Request', request] as const, ['Response', response] as const].map(
        ([title, body]) =>
          body !== undefined && (
            <section key={title}>
              <h3>
                {title} <span className="quiet">{bytes(body.bytes)}</span>
              </h3>
              {body.text === undefined ? (
                <p className="quiet">It was too large to be recorded.</p>
              ) : (
                <pre className="foreign">
                  <ForeignText>{body.text}</ForeignText>
                </pre>
              )}
            </section>
          ),
      )}
      {request === undefined && response === undefined && (
        <p className="quiet">The request and the response were not recorded.</p>
      )}
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

/** Adds calls as they end, once per frame, while the page is visible. */
function useLiveTraffic(name: string, isPaused: boolean, onEntries: (entries: TrafficEntry[]) => void): void {
  const isVisible = useVisible();
  const { connection } = useConnection();
  const take = useRef(onEntries);
  take.current = onEntries;
  useEffect(() => {
    if (isPaused || !isVisible || connection === 'lost') return;
    const controller = new AbortController();
    let waiting: TrafficEntry[] = [];
    let frame = 0;
    const follow = async (): Promise<void> => {
      const { signal } = controller;
      const events = await client.watchTraffic({ params: { name }, query: {}, headers: {} }, { signal });
      // Calls that ended before the stream was open.
      const { entries } = await client.listTraffic(
        { params: { name }, query: { limit: maxRows } },
        { signal },
      );
      take.current(entries);
      for await (const { event } of events) {
        if (!('entry' in event)) continue;
        waiting.push(event.entry);
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          take.current(waiting.splice(0));
        });
      }
    };
    follow().catch(() => {}); // the banner shows that the connection is lost, and it is followed again then
    return () => {
      controller.abort();
      cancelAnimationFrame(frame);
      waiting = [];
    };
  }, [name, isPaused, isVisible, connection]);
}
