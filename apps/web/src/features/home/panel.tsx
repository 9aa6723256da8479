import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { permissions, usage } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Bar } from '../../ui/drawing/bar.tsx';
import { Icon } from '../../ui/drawing/icon.tsx';
import { bytes, count, duration } from '../../ui/format.ts';
import { PermissionList } from '../../ui/permissions.tsx';
import { SignIn } from '../../ui/sign-in.tsx';
import { Status } from '../../ui/status.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { tabs } from '../workload/tabs.ts';
import { CallLine } from './columns.tsx';
import type { Figures } from './figures.ts';
import { RowActions } from './row-actions.tsx';

/** The most tools with a bar. */
const maxTools = 6;

/** A workload beside the list: everything important without another page. */
export function Panel({
  workload,
  figures,
  onClose,
}: {
  workload: Workload;
  figures: Figures | undefined;
  onClose: () => void;
}): ReactNode {
  const { name, url, status, status_context: context } = workload;
  const path = `/w/${encodeURIComponent(name)}`;
  const isProblem = status === 'error' || status === 'unhealthy';
  return (
    <aside className="panel" aria-label={`Server ${name}`}>
      <div className="panel-head">
        <h2>{name}</h2>
        <button type="button" className="icon" aria-label="Close the panel" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div className="panel-head">
        <Status status={status} />
        <span className="row-actions">
          <SignIn workload={workload} />
          <RowActions workload={workload} />
        </span>
      </div>
      {context !== undefined && status !== 'running' && (
        <div className={isProblem ? 'notice failure' : 'notice'}>
          <ForeignText>{context}</ForeignText>
        </div>
      )}
      <nav aria-label={`Pages of ${name}`} className="panel-pages">
        {tabs.flatMap(({ views }) =>
          views.map(([page, label]) => (
            <Link key={page} href={`${path}${page}`}>
              {label}
            </Link>
          )),
        )}
      </nav>
      {url !== '' && (
        <p className="panel-url">
          <code>{url}</code> <CopyButton text={url} label="Copy URL" what={`of ${name}`} />
        </p>
      )}
      <h3>Last hour</h3>
      <p className="figures">
        <CallLine figures={figures} />
        {figures !== undefined && (
          <span>
            {count(figures.calls, 'call')}, {count(figures.errors, 'error')}
          </span>
        )}
      </p>
      {figures?.medianMs !== undefined && (
        <p className="quiet">Median duration {duration(figures.medianMs)}</p>
      )}
      <Use name={name} />
      <h3>Permissions</h3>
      <Permitted name={name} />
    </aside>
  );
}

function Use({ name }: { name: string }): ReactNode {
  const { data } = useResource(usage(name));
  if (data === undefined) return null;
  const { memory_bytes: memory, memory_limit_bytes: limit, tools } = data;
  const most = Math.max(1, ...tools.map(({ calls }) => calls));
  return (
    <>
      {memory !== undefined && (
        <>
          <h3>Memory</h3>
          <p className="figures">
            {limit !== undefined && (
              <Bar amount={memory} most={limit} label={`${bytes(memory)} of ${bytes(limit)}`} />
            )}
            <span>
              {bytes(memory)}
              {limit !== undefined && ` of ${bytes(limit)}`}
            </span>
          </p>
        </>
      )}
      {tools.length > 0 && (
        <>
          <h3>Tools</h3>
          <ul className="tool-bars">
            {tools.slice(0, maxTools).map((tool) => (
              <li key={tool.name}>
                <Link href={`/w/${encodeURIComponent(name)}/tools?tool=${encodeURIComponent(tool.name)}`}>
                  <ForeignText>{tool.name}</ForeignText>
                </Link>
                <Bar
                  amount={tool.calls}
                  problems={tool.errors}
                  most={most}
                  label={`${count(tool.calls, 'call')}, ${count(tool.errors, 'error')}`}
                />
                <span className="amount">{tool.calls.toLocaleString('en')}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Permitted({ name }: { name: string }): ReactNode {
  const { data } = useResource(permissions(name));
  return data === undefined ? null : <PermissionList permissions={data} />;
}
