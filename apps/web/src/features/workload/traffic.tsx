import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import type { CallOutcome, TrafficDetails, TrafficEntry } from '@toolhive/contract/traffic';
import { client } from '../../api/client.ts';
import { traffic } from '../../api/resources.ts';
import { failureOf, refresh, useConnection, useResource } from '../../api/store.ts';
import { useVisible } from '../../api/visible.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Lanes } from '../../ui/drawing/lanes.tsx';
import { useAge } from '../../ui/age.tsx';
import { bytes, count, dateTime, duration } from '../../ui/format.ts';
import { useQuery } from '../../ui/query.ts';
import { Failure, Notice, Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';
import { Durations } from './durations.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';

/** The most calls that the page reads. */
const maxRows = 1_000;
/** The pause before the calls are read again that a stream has dropped. More of them may follow. */
const listRestMs = 2_000;

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
                Messages of this server pass through the proxy unread, so only their HTTP requests are listed.
              </Notice>
            )}
            <Recording
              isOn={recording.bodies}
              maxTotal={recording.max_total_bytes}
              onChange={(bodies) =>
                attempt('Cannot change the recording', async () => {
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
  onChange: (bodies: boolean) => Promise<boolean>;
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
  const [isPaused, setPaused] = useState(false);
  const [filter, setFilter] = useQuery('q');
  const [outcome, setOutcome] = useQuery('outcome');
  const { since, choice } = useAge(['minutes', 'hour'], 'Last 24 hours');
  const [open, setOpen] = useState<TrafficDetails | undefined>();
  const words = useDeferredValue(filter).trim();
  const query = useMemo(
    () => ({
      ...(words === '' ? {} : { search: words }),
      ...(outcome === '' ? {} : { outcome: outcome as CallOutcome }), // one of the options below
      ...(since === undefined ? {} : { since }),
    }),
    [words, outcome, since],
  );
  const isFiltered = Object.keys(query).length > 0;
  const [entries, setEntries] = useState<readonly TrafficEntry[]>(isFiltered ? [] : first.toReversed());
  const failure = useLiveTraffic(name, query, {
    isPaused,
    onList: (found) => setEntries(found.toReversed()),
    onEntries: (found) => setEntries((current) => merged(current, found)),
  });
  const show = (entry: TrafficEntry): void =>
    void attempt('Cannot read the call', async () =>
      setOpen(await client.getTrafficEntry({ params: { name, id: String(entry.id) } })),
    );
  return (
    <>
      <div className="toolbar">
        <input
          type="search"
          value={filter}
          maxLength={256}
          placeholder="Search by method, tool, or client"
          aria-label="Search calls"
          onChange={({ target }) => setFilter(target.value)}
        />
        <select value={outcome} aria-label="Outcome" onChange={({ target }) => setOutcome(target.value)}>
          <option value="">Every outcome</option>
          <option value="ok">ok</option>
          <option value="error">error</option>
          <option value="denied">denied</option>
          <option value="cancelled">canceled</option>
        </select>
        {choice}
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
        <span className="quiet" role="status">
          {count(entries.length, 'call')}
          {entries.length === maxRows && `, the latest since ${dateTime(entries.at(-1)?.at ?? 0)}`}
        </span>
      </div>
      {failure !== undefined && <Failure failure={failure} title="Cannot read the calls" />}
      {entries.length === 0 ? (
        failure === undefined && (
          <p>{isFiltered ? 'No call matches.' : 'No client has called this server in the last 24 hours.'}</p>
        )
      ) : (
        <>
          <div className="call-drawings">
            <CallLanes entries={entries} />
            <Durations entries={entries} />
          </div>
          <Table
            label="Calls"
            columns={columns(show)}
            rows={entries}
            keyOf={({ id }) => String(id)}
            onOpen={show}
          />
        </>
      )}
      {open !== undefined && <Details details={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function columns(show: (entry: TrafficEntry) => void): readonly Column<TrafficEntry>[] {
  return [
    {
      id: 'time',
      head: 'Time',
      width: 7.5,
      order: ({ id }) => id,
      cell: (entry) => (
        <button
          type="button"
          className="link"
          aria-label={`Show call ${entry.id}`}
          onClick={() => show(entry)}
        >
          {new Date(entry.at).toLocaleTimeString()}
        </button>
      ),
    },
    {
      id: 'client',
      head: 'Client',
      width: 10,
      grow: 1,
      order: ({ client: caller }) => caller?.name,
      cell: ({ client: caller, source }) => (
        <>
          <ForeignText>{caller?.name ?? ''}</ForeignText>{' '}
          {source === 'ui' && <span className="badge">web UI</span>}
        </>
      ),
    },
    {
      id: 'method',
      head: 'Method',
      width: 6,
      grow: 1,
      rank: 2,
      order: ({ method }) => method,
      cell: ({ method, direction }) => (
        <>
          <ForeignText>{method}</ForeignText>{' '}
          {direction === 'to-client' && <span className="badge">to client</span>}
        </>
      ),
    },
    {
      id: 'name',
      head: 'Name',
      width: 7,
      grow: 2,
      order: ({ name }) => name,
      cell: ({ name }) => <ForeignText>{name ?? ''}</ForeignText>,
    },
    {
      id: 'duration',
      head: 'Duration',
      kind: 'number',
      width: 5,
      rank: 1,
      order: ({ duration_ms: ms }) => ms,
      cell: ({ duration_ms: ms }) => (ms === undefined ? '' : duration(ms)),
    },
    {
      id: 'size',
      head: 'Size',
      kind: 'number',
      width: 5,
      rank: 3,
      order: sizeOf,
      cell: (entry) => bytes(sizeOf(entry)),
    },
    {
      id: 'outcome',
      head: 'Outcome',
      width: 5.5,
      grow: 1,
      order: ({ outcome }) => outcome,
      cell: ({ outcome, reason }) => (
        <span className={outcome === 'ok' ? 'good' : 'problem'}>
          {outcome === 'cancelled' ? 'canceled' : outcome}
          {reason !== undefined && (
            <>
              : <ForeignText>{reason}</ForeignText>
            </>
          )}
        </span>
      ),
    },
  ];
}

function sizeOf({ request_bytes: request = 0, response_bytes: response = 0 }: TrafficEntry): number {
  return request + response;
}

/** The most calls and clients in the drawing. The list has all of them. */
const [maxDrawn, maxLanes] = [300, 6];

/** Which client called when, and for how long. */
function CallLanes({ entries }: { entries: readonly TrafficEntry[] }): ReactNode {
  const drawn = entries.slice(0, maxDrawn);
  const times = drawn.map(({ at }) => Date.parse(at));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  if (drawn.length < 2 || from === to) return null;
  const lanes = [...Map.groupBy(drawn, ({ client: caller }) => caller?.name ?? 'unknown')]
    .slice(0, maxLanes)
    .map(([name, calls]) => ({
      name: plainForeign(name),
      events: calls.map(({ id, at, duration_ms: lasted = 0, outcome }) => ({
        key: id,
        at: Date.parse(at),
        lasted,
        isProblem: outcome !== 'ok',
      })),
    }));
  const label = lanes.map(({ name, events }) => `${name}: ${count(events.length, 'call')}`).join(', ');
  return (
    <div className="lane-names">
      <ul aria-hidden="true">
        {lanes.map(({ name }) => (
          <li key={name} title={name}>
            {name}
          </li>
        ))}
      </ul>
      <Lanes
        lanes={lanes}
        from={from}
        to={to}
        label={`${label}, from ${dateTime(from)} to ${dateTime(to)}`}
      />
    </div>
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

interface CallQuery {
  search?: string;
  outcome?: CallOutcome;
  since?: string;
}

/** Lists the calls that match, and adds others as they end, once per frame, while the page is visible. */
function useLiveTraffic(
  name: string,
  query: CallQuery,
  {
    isPaused,
    onList,
    onEntries,
  }: {
    isPaused: boolean;
    onList: (entries: TrafficEntry[]) => void;
    onEntries: (entries: TrafficEntry[]) => void;
  },
): ThvError | undefined {
  const isVisible = useVisible();
  const { connection } = useConnection();
  const [failure, setFailure] = useState<ThvError | undefined>();
  /** How many streams have ended while the daemon responds. */
  const [streams, setStreams] = useState(0);
  const take = useRef({ onList, onEntries });
  take.current = { onList, onEntries };
  const listed = useRef<CallQuery>({});
  useEffect(() => {
    if (!isVisible || connection === 'lost' || (isPaused && listed.current === query)) return;
    const controller = new AbortController();
    let waiting: TrafficEntry[] = [];
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const { signal } = controller;
    const { since, ...filters } = query;
    const failed = (thrown: unknown, again: () => void): void => {
      if (signal.aborted) return;
      const found = failureOf(thrown);
      // Without a connection, the banner says so.
      if (found.kind === 'unavailable') again();
      else setFailure(found);
    };
    const later = (run: () => void): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        run();
      }, listRestMs);
    };
    const followAgain = (): void => later(() => setStreams((count) => count + 1));
    const list = async (): Promise<TrafficEntry[]> => {
      const time = since === undefined ? {} : { since };
      const all = { params: { name }, query: { limit: maxRows, ...filters, ...time } };
      return (await client.listTraffic(all, { signal })).entries;
    };
    // The stream is read in the meantime: what waits there would be dropped, and the list read once more.
    const fillGap = (): void =>
      later(() => {
        list().then(
          (found) => take.current.onEntries(found),
          (thrown: unknown) => failed(thrown, fillGap),
        );
      });
    const follow = async (): Promise<void> => {
      // A daemon with too many watchers still lists the calls.
      let refusal: ThvError | undefined;
      const events = isPaused
        ? []
        : await client
            .watchTraffic({ params: { name }, query: filters, headers: {} }, { signal })
            .catch((thrown: unknown) => {
              refusal = failureOf(thrown);
              return [];
            });
      // Also calls that ended before the stream was open.
      take.current.onList(await list());
      listed.current = query;
      setFailure(refusal);
      for await (const { event } of events) {
        if (event.type === 'reset') fillGap();
        if (event.type === 'recording') refresh(traffic(name).key);
        if (event.type !== 'entry') continue;
        waiting.push(event.entry);
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          take.current.onEntries(waiting.splice(0));
        });
      }
      if (!signal.aborted && !isPaused && refusal === undefined) followAgain(); // the stream has ended
    };
    follow().catch((thrown: unknown) => failed(thrown, followAgain));
    return () => {
      controller.abort();
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      waiting = [];
    };
  }, [name, query, isPaused, isVisible, connection, streams]);
  return failure;
}

/** The latest calls of both lists, the latest first. */
function merged(current: readonly TrafficEntry[], found: readonly TrafficEntry[]): readonly TrafficEntry[] {
  const known = new Map([...current, ...found].map((entry) => [entry.id, entry]));
  return [...known.values()].toSorted((a, b) => b.id - a.id).slice(0, maxRows);
}
