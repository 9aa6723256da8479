import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import type { LogRecord } from '@toolhive/contract/log-record';
import type { ThvError } from '@toolhive/contract/failure';
import { useLocation, useSearch } from 'wouter';
import { client } from '../../api/client.ts';
import { failureOf, useConnection } from '../../api/store.ts';
import { useVisible } from '../../api/visible.ts';
import { Action } from '../../ui/action.tsx';
import { count } from '../../ui/format.ts';
import { useQuery } from '../../ui/query.ts';
import { NotLoaded } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.ts';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { LogDensity } from './log-density.tsx';
import { LogLines, levels, maxLines } from './log-lines.ts';
import { download } from '../../ui/download.ts';

/** The height of a line, as in the style sheet. */
const lineHeight = 20;
/** Lines beyond the visible ones, so that scrolling shows no gaps. */
const overscan = 20;
/** The lines that are read at first, and with each "Load older lines". */
const pageLines = 2_000;

/** The log lines of the server and of its proxy, in one column. */
export function Logs(): ReactNode {
  const name = useWorkloadName();
  return (
    <WorkloadFrame name={name}>
      <LogView key={name} name={name} />
    </WorkloadFrame>
  );
}

/** A workload's log, without the frame of its screens. */
export function LogView({ name }: { name: string }): ReactNode {
  const lines = useMemo(() => new LogLines(), []);
  const region = useRef<HTMLDivElement>(null);
  const [version, setVersion] = useState(0);
  const changed = (): void => setVersion((current) => current + 1);
  const [search, setSearch] = useQuery('q');
  const [hidden, setHidden] = useQuery('hidden');
  const chosen = useMemo(
    () => new Set(levels.filter((level) => !hidden.split(',').includes(level))),
    [hidden],
  );
  const [isFollowing, setFollowing] = useState(true);
  const [failure, setFailure] = useState<ThvError | undefined>();
  const query = useDeferredValue(search);
  const linked = new URLSearchParams(useSearch()).get('line');
  const [selected, setSelected] = useState<string | undefined>(linked ?? undefined);
  useFollowedLogs(name, lines, { isFollowing, onChange: changed, onFailure: setFailure });
  useMemo(() => lines.filter(chosen, query), [lines, chosen, query]);
  useFoundLines(name, lines, {
    search: query,
    isRead: lines.total > 0,
    onChange: changed,
    onFailure: setFailure,
  });

  const older = async (): Promise<void> => {
    const records = await olderLines(name, lines);
    if (records.length === 0) toast('No older lines');
    lines.addOlder(records);
    changed();
  };
  return (
    <>
      <div className="toolbar">
        <input
          type="search"
          value={search}
          placeholder="Search in the log"
          aria-label="Search in the log"
          data-search
          onChange={({ target }) => setSearch(target.value)}
        />
        <fieldset className="toolbar">
          <legend className="visually-hidden">Levels</legend>
          {levels.map((level) => (
            <label key={level} className="choice">
              <input
                type="checkbox"
                checked={chosen.has(level)}
                onChange={({ target }) => {
                  const next = new Set(chosen);
                  if (target.checked) next.add(level);
                  else next.delete(level);
                  setHidden(levels.filter((each) => !next.has(each)).join(','));
                }}
              />
              {level}
            </label>
          ))}
        </fieldset>
        <label className="choice">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={({ target }) => setFollowing(target.checked)}
          />
          Follow
        </label>
        <Action onClick={() => attempt('Cannot load older lines', older)}>Load older lines</Action>
        <button type="button" onClick={() => download(lines.text(), `${name}.log`)}>
          Download
        </button>
      </div>
      {failure !== undefined && <NotLoaded failure={failure} title="Cannot read the log" />}
      {/* Only the result of a choice is announced. A busy server would be all that a screen reader says. */}
      <p className="quiet" role="status" aria-live={query === '' && hidden === '' ? 'off' : 'polite'}>
        {count(lines.shown.length, 'line')}
        {lines.shown.length < lines.total && ` of ${lines.total.toLocaleString('en')}`}
        {lines.total >= maxLines && `; older lines are dropped`}
      </p>
      <LogDensity
        records={lines.shown}
        version={version}
        onJump={(index) => {
          setFollowing(false);
          if (region.current !== null) region.current.scrollTop = index * lineHeight;
        }}
      />
      <Lines
        region={region}
        records={lines.shown}
        version={version}
        isFollowing={isFollowing}
        search={query}
        selected={selected}
        onSelect={setSelected}
      />
      {selected !== undefined && <SelectedLine records={lines.shown} id={selected} />}
    </>
  );
}

const idOf = ({ stream, line }: LogRecord): string => `${stream === 'proxy' ? 'proxy' : 'server'}-${line}`;

function SelectedLine({ records, id }: { records: readonly LogRecord[]; id: string }): ReactNode {
  const [location] = useLocation();
  const record = records.find((each) => idOf(each) === id);
  const link = `${window.location.origin}/ui${location}?line=${id}`;
  const copy = (text: string, what: string): Promise<void> =>
    attempt('Cannot copy', () => navigator.clipboard.writeText(text)).then(
      (isDone) => void (isDone && toast(`Copied ${what}`)),
    );
  if (record === undefined) return <p className="quiet">The linked line is not loaded.</p>;
  return (
    <div className="toolbar">
      <span>Line {record.line} is selected</span>
      <button type="button" onClick={() => void copy(link, 'the link')}>
        Copy link
      </button>
      <button type="button" onClick={() => void copy(record.text, 'the line')}>
        Copy line
      </button>
    </div>
  );
}

/** Renders only the lines that are visible. */
function Lines({
  region,
  records,
  version,
  isFollowing,
  search,
  selected,
  onSelect,
}: {
  region: RefObject<HTMLDivElement | null>;
  records: readonly LogRecord[];
  version: number;
  isFollowing: boolean;
  search: string;
  selected: string | undefined;
  onSelect: (id: string) => void;
}): ReactNode {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const { current } = region;
    if (current === null) return;
    const observer = new ResizeObserver(() => setHeight(current.clientHeight));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const { current } = region;
    if (current !== null && isFollowing) current.scrollTop = current.scrollHeight;
  }, [version, isFollowing, records.length]);
  const first = Math.max(0, Math.floor(top / lineHeight) - overscan);
  const visible = records.slice(first, first + Math.ceil(height / lineHeight) + 2 * overscan);
  return (
    <div
      ref={region}
      className="log"
      role="log"
      aria-live="off"
      aria-label="Log lines"
      tabIndex={0}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <div ref={(element) => void (element && (element.style.height = `${records.length * lineHeight}px`))} />
      {visible.map((record, index) => (
        <Line
          key={idOf(record)}
          record={record}
          offset={(first + index) * lineHeight}
          isMatch={search !== '' || idOf(record) === selected}
          onSelect={onSelect}
        />
      ))}
    </div>
  );
}

function Line({
  record,
  offset,
  isMatch,
  onSelect,
}: {
  record: LogRecord;
  offset: number;
  isMatch: boolean;
  onSelect: (id: string) => void;
}): ReactNode {
  const { at, level, stream, text } = record;
  return (
    // Selecting a line is only a shortcut for copying a link.
    <div
      className={isMatch ? 'log-line match' : 'log-line'}
      ref={(element) => void (element && (element.style.top = `${offset}px`))}
      onClick={() => onSelect(idOf(record))}
    >
      <span className="quiet">{at === undefined ? '' : timeOf(at)}</span>
      <span className={`level-${level}`}>{level.padEnd(5)}</span>
      {stream === 'proxy' && <span className="quiet">proxy</span>}
      <span>
        <ForeignText>{text}</ForeignText>
      </span>
    </div>
  );
}

function timeOf(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour12: false });
}

/** The pause after a letter before the daemon searches. */
const pauseMs = 300;

/** Searches the lines that the page has not read in the daemon. */
function useFoundLines(
  name: string,
  lines: LogLines,
  {
    search,
    isRead,
    onChange,
    onFailure,
  }: { search: string; isRead: boolean; onChange: () => void; onFailure: (failure: ThvError) => void },
): void {
  useEffect(() => {
    if (search === '' || !isRead) return undefined;
    const controller = new AbortController();
    const find = async (): Promise<void> => {
      try {
        const found = await olderLines(name, lines, { search, signal: controller.signal });
        if (controller.signal.aborted) return;
        lines.showFound(found);
        onChange();
      } catch (thrown) {
        if (!controller.signal.aborted) onFailure(failureOf(thrown));
      }
    };
    const timer = setTimeout(() => void find(), pauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [name, lines, search, isRead]);
}

/** The lines of both streams before the known ones, in the order of their time. */
async function olderLines(
  name: string,
  lines: LogLines,
  { search, signal }: { search?: string; signal?: AbortSignal } = {},
): Promise<LogRecord[]> {
  const found = await Promise.all(
    [false, true].map(async (isProxy) => {
      const before = lines.firstLine(isProxy) ?? 0;
      const query = { before, limit: pageLines, ...(search === undefined ? {} : { search }) };
      return before === 0 ? [] : read(name, isProxy, query, signal);
    }),
  );
  return found.flat().toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? -1 : 1));
}

/** Reads the log, and follows new lines while the page is visible. */
function useFollowedLogs(
  name: string,
  lines: LogLines,
  {
    isFollowing,
    onChange,
    onFailure,
  }: { isFollowing: boolean; onChange: () => void; onFailure: (failure: ThvError | undefined) => void },
): void {
  const isVisible = useVisible();
  const { connection } = useConnection();
  const last = useRef({ server: -1, proxy: -1 });
  useEffect(() => {
    if (!isVisible || connection === 'lost') return;
    const controller = new AbortController();
    let waiting: LogRecord[] = [];
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      lines.add(waiting);
      waiting = [];
      onChange();
    };
    const take = (record: LogRecord): void => {
      const kind = record.stream === 'proxy' ? 'proxy' : 'server';
      if (record.line <= last.current[kind]) return; // it was read before the stream was opened again
      last.current[kind] = record.line;
      waiting.push(record);
      frame ||= requestAnimationFrame(flush);
    };
    const follow = async (isProxy: boolean): Promise<void> => {
      try {
        await stream(name, isProxy, { isFollowing, signal: controller.signal, onRecord: take });
        onFailure(undefined);
      } catch (thrown) {
        if (!controller.signal.aborted) onFailure(failureOf(thrown));
      }
    };
    void follow(false);
    void follow(true);
    return () => {
      controller.abort();
      cancelAnimationFrame(frame);
      if (waiting.length > 0) lines.add(waiting);
    };
  }, [name, lines, isFollowing, isVisible, connection]);
}

async function stream(
  name: string,
  isProxy: boolean,
  {
    isFollowing,
    signal,
    onRecord,
  }: { isFollowing: boolean; signal: AbortSignal; onRecord: (record: LogRecord) => void },
): Promise<void> {
  let rest = '';
  const call = {
    params: { name },
    query: { format: 'ndjson' as const, limit: pageLines, ...(isFollowing ? { follow: 'true' } : {}) },
  };
  const options = {
    signal,
    onText(piece: string) {
      const parts = (rest + piece).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) if (part !== '') onRecord(JSON.parse(part) as LogRecord);
    },
  };
  await (isProxy ? client.getProxyLogs(call, options) : client.getWorkloadLogs(call, options));
}

async function read(
  name: string,
  isProxy: boolean,
  query: { before: number; limit: number; search?: string },
  signal?: AbortSignal,
): Promise<LogRecord[]> {
  const call = { params: { name }, query: { ...query, format: 'ndjson' as const } };
  const options = signal === undefined ? {} : { signal };
  const text = await (isProxy ? client.getProxyLogs(call, options) : client.getWorkloadLogs(call, options));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogRecord);
}
