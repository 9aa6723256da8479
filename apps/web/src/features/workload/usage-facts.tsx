import { useRef } from 'react';
import type { ReactNode } from 'react';
import type { ToolUsage } from '@toolhive/contract/traffic';
import { Link } from 'wouter';
import { lastHour, usage } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Bar } from '../../ui/drawing/bar.tsx';
import { Sparkline } from '../../ui/drawing/sparkline.tsx';
import { ago, bytes, count, dateTime, duration } from '../../ui/format.ts';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';

/** The samples of a line: two minutes, because usage is read every two seconds. */
const maxSamples = 60;

/** Memory and processor, drawn against their limits, and the calls of each tool. */
export function UsageFacts({ name }: { name: string }): ReactNode {
  const { data, at } = useResource(usage(name));
  const memory = useSamples(name, at, data?.memory_bytes);
  const processor = useSamples(name, at, data?.cpu_percent);
  if (data === undefined) return null;
  const { memory_bytes: used, memory_limit_bytes: limit, cpu_percent: cpu, processes, tools } = data;
  const memoryText =
    used === undefined ? '' : `${bytes(used)}${limit === undefined ? '' : ` of ${bytes(limit)}`}`;
  return (
    <>
      <h2>Usage</h2>
      <dl className="pairs">
        {used !== undefined && (
          <Measured term="Memory" text={memoryText}>
            <Sparkline
              values={memory}
              most={limit}
              problems={[]}
              label={`Memory since this page is open, now ${memoryText}`}
            />
          </Measured>
        )}
        {cpu !== undefined && (
          <Measured term="Processor" text={`${cpu.toFixed(1)} % of one processor`}>
            <Sparkline
              values={processor}
              most={100}
              problems={[]}
              label={`Processor since this page is open, now ${cpu.toFixed(1)} %`}
            />
          </Measured>
        )}
        {processes !== undefined && <Measured term="Processes" text={String(processes)} />}
        <Measured
          term="Calls"
          text={`${data.calls.toLocaleString('en')}, ${count(data.errors, 'error')}`}
          since={data.since}
        >
          <CallLine name={name} />
        </Measured>
      </dl>
      {tools.length > 0 && (
        <Table
          label="Calls per tool"
          columns={toolColumns(name, Math.max(...tools.map((tool) => tool.calls)))}
          rows={tools}
          keyOf={(tool) => tool.name}
        />
      )}
    </>
  );
}

function Measured({
  term,
  text,
  since,
  children,
}: {
  term: string;
  text: string;
  since?: string;
  children?: ReactNode;
}): ReactNode {
  return (
    <div>
      <dt>{term}</dt>
      <dd className="figures">
        {children}
        <span>
          {text}
          {since !== undefined && (
            <>
              , <span className="amount">since {dateTime(since)}</span>
            </>
          )}
        </span>
      </dd>
    </div>
  );
}

const minutes = Array.from({ length: 60 });

/** The calls in each minute of the last hour. */
function CallLine({ name }: { name: string }): ReactNode {
  const { data } = useResource(lastHour);
  const series = data?.series.find(({ workload }) => workload === name);
  if (series?.points === undefined) return null;
  const [calls, errors] = [minutes.map(() => 0), minutes.map(() => 0)];
  for (const [index, step] of series.points.at.entries()) {
    if (step >= 60) continue;
    calls[step] = series.points.calls[index] ?? 0;
    errors[step] = series.points.errors?.[index] ?? 0;
  }
  return (
    <Sparkline
      values={calls}
      problems={errors}
      label={`${count(series.calls, 'call')} and ${count(series.errors, 'error')} in the last hour`}
    />
  );
}

/** The values that were loaded while the page is open. The daemon keeps no history of them. */
function useSamples(name: string, at: number | undefined, value: number | undefined): readonly number[] {
  const samples = useRef<{ name: string; at: number; values: readonly number[] }>({
    name,
    at: 0,
    values: [],
  });
  if (samples.current.name !== name) samples.current = { name, at: 0, values: [] };
  if (value !== undefined && at !== undefined && at !== samples.current.at) {
    const values = [...samples.current.values, value].slice(-maxSamples);
    samples.current = { name, at, values };
  }
  return samples.current.values;
}

function toolColumns(name: string, most: number): readonly Column<ToolUsage>[] {
  return [
    {
      id: 'tool',
      head: 'Tool',
      width: 7,
      grow: 2,
      order: (tool) => tool.name,
      cell: (tool) => (
        <Link href={`/w/${encodeURIComponent(name)}/tools?tool=${encodeURIComponent(tool.name)}`}>
          <ForeignText>{tool.name}</ForeignText>
        </Link>
      ),
    },
    {
      id: 'bar',
      head: 'Share',
      width: 4,
      grow: 1,
      rank: 1,
      cell: ({ calls, errors }) => (
        <Bar
          amount={calls}
          problems={errors}
          most={most}
          label={`${count(calls, 'call')}, ${count(errors, 'error')}`}
        />
      ),
    },
    {
      id: 'calls',
      head: 'Calls',
      kind: 'number',
      width: 4,
      order: ({ calls }) => calls,
      cell: ({ calls }) => calls.toLocaleString('en'),
    },
    {
      id: 'errors',
      head: 'Errors',
      kind: 'number',
      width: 4,
      order: ({ errors }) => errors,
      cell: ({ errors }) => errors.toLocaleString('en'),
    },
    {
      id: 'median',
      head: 'Median',
      kind: 'number',
      width: 5,
      rank: 2,
      order: ({ p50_ms: median }) => median,
      cell: ({ p50_ms: median }) => duration(median),
    },
    {
      id: 'last',
      head: 'Last call',
      kind: 'number',
      width: 7.5,
      rank: 3,
      order: ({ last_at: at }) => Date.parse(at),
      cell: ({ last_at: at }) => ago(at),
    },
  ];
}
