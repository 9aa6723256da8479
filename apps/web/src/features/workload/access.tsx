import { Suspense, useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import type { NetworkDecision, Permissions } from '@toolhive/contract/network';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { capabilities, networkDecisions, permissions, workload } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Doors, doorsOf } from '../../ui/doors.tsx';
import { count } from '../../ui/format.ts';
import { PermissionList } from '../../ui/permissions.tsx';
import { Notice, Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { AskedAccess, placeToAllow } from './asked-access.tsx';
import type { Ask } from './asked-access.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { PendingChanges } from './pending-changes.tsx';
import { LastToolNote } from './last-tool-note.tsx';
import { RestartNote } from './restart-note.tsx';
import { changeTools, hidesAll, withShown } from './tool-changes.ts';
import { lazily } from '../../ui/unloaded.tsx';

const RenameDialog = lazily(() => import('./rename-dialog.tsx'));

/** The doors of a server to files, the network, and secrets, and the tools that clients get. */
export function Access(): ReactNode {
  const name = useWorkloadName();
  const resource = workload(name);
  const loaded = useResource(resource);
  const [asked, setAsked] = useState<Ask | undefined>();
  return (
    <WorkloadFrame name={name}>
      <PendingChanges name={name} />
      <Shown loaded={loaded} name={resource.key} what="the server">
        {(details) => (
          <>
            {details.remote ? (
              <Notice>The server runs elsewhere, so ToolHive does not limit its access.</Notice>
            ) : (
              <LocalAccess key={name} details={details} onAsk={setAsked} />
            )}
            <ToolDoor name={name} />
          </>
        )}
      </Shown>
      {asked !== undefined && <AskedAccess name={name} ask={asked} onClose={() => setAsked(undefined)} />}
    </WorkloadFrame>
  );
}

function LocalAccess({
  details: { name, secrets },
  onAsk,
}: {
  details: WorkloadDetails;
  onAsk: (ask: Ask) => void;
}): ReactNode {
  const resource = permissions(name);
  const loaded = useResource(resource);
  const { data: decisions = [] } = useResource(networkDecisions(name));
  return (
    <Shown loaded={loaded} name={resource.key} what="the permissions">
      {(access) => (
        <>
          <Doors
            doors={doorsOf(
              access,
              (secrets ?? []).map(({ target }) => target),
            )}
          >
            {[
              <Action key="files" onClick={() => onAsk({ kind: 'files' })}>
                Change files
              </Action>,
              <Hosts key="network" name={name} access={access} decisions={decisions} onAsk={onAsk} />,
              <Action key="secrets" onClick={() => onAsk({ kind: 'secrets' })}>
                Add a secret
              </Action>,
            ]}
          </Doors>
          <details>
            <summary>Permissions in words</summary>
            <PermissionList permissions={access} />
          </details>
        </>
      )}
    </Shown>
  );
}

/** The most denied hosts with a button here. */
const maxDenied = 5;

/** The connections that a server has tried, compared with its rules. */
function Hosts({
  name,
  access,
  decisions,
  onAsk,
}: {
  name: string;
  access: Permissions;
  decisions: readonly NetworkDecision[];
  onAsk: (ask: Ask) => void;
}): ReactNode {
  const denied = decisions.flatMap(({ verdict, host, port, fix }) => {
    const place = placeToAllow(fix);
    const target = port === undefined ? host : `${host}:${port}`;
    return verdict === 'denied' ? [{ target, place }] : [];
  });
  const reached = decisions.filter(({ verdict }) => verdict === 'allowed').map(({ rule }) => rule);
  const unused = (access.network.hosts ?? []).filter((host) => !reached.includes(host));
  return (
    <>
      {denied.length > 0 && (
        <>
          <h4>Denied</h4>
          <ul className="door-hosts">
            {denied.slice(0, maxDenied).map(({ target, place }) => (
              <li key={target}>
                <ForeignText>{target}</ForeignText>
                {place === undefined ? (
                  <span className="quiet" title="No rule can allow this connection">
                    always denied
                  </span>
                ) : (
                  <Action
                    aria-label={`Allow ${plainForeign(target)}`}
                    onClick={() => onAsk({ kind: 'allow', place })}
                  >
                    Allow
                  </Action>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {unused.length > 0 && (
        <p className="quiet">
          Allowed and not used so far: <ForeignText>{unused.join(', ')}</ForeignText>
        </p>
      )}
      <div className="buttons">
        <Action onClick={() => onAsk({ kind: 'network' })}>Change network</Action>
        {access.learning === undefined && <Action onClick={() => onAsk({ kind: 'learn' })}>Learn</Action>}
        <Link href={`/w/${encodeURIComponent(name)}/network`}>All connections</Link>
      </div>
    </>
  );
}

/** A switch for each tool. Several switches apply together, because each change is a restart. */
function ToolDoor({ name }: { name: string }): ReactNode {
  const { data } = useResource(capabilities(name));
  const [wanted, setWanted] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [renamed, setRenamed] = useState<ListedTool | undefined>();
  const tools = data?.tools ?? [];
  if (tools.length === 0) return null;
  const shown = tools.filter(({ is_shown: isShown }) => isShown).length;
  const isNone = hidesAll(tools, wanted);
  const toggle = (tool: ListedTool, isShown: boolean): void => {
    const next = new Map(wanted);
    if (isShown === tool.is_shown) next.delete(tool.name);
    else next.set(tool.name, isShown);
    setWanted(next);
  };
  const apply = async (): Promise<void> => {
    if (await changeTools(name, () => withShown(tools, wanted))) setWanted(new Map());
  };
  return (
    <section aria-labelledby="tool-door">
      <h2 id="tool-door">Tools</h2>
      <p>
        Clients get {shown.toLocaleString('en')} of {count(tools.length, 'tool')}.{' '}
        <Link href={`/w/${encodeURIComponent(name)}/tools`}>Try the tools</Link>
      </p>
      {wanted.size > 0 && (
        <div className="notice warning" role="group" aria-label="Changes of tools">
          <ul className="plain">
            {[...wanted].map(([tool, isShown]) => (
              <li key={tool} className={isShown ? 'diff-added' : 'diff-removed'}>
                {isShown ? '+' : '−'} <ForeignText>{tool}</ForeignText>
              </li>
            ))}
          </ul>
          {isNone ? <LastToolNote /> : <RestartNote name={name} />}
          <div className="buttons">
            <Action className="primary" disabled={isNone} onClick={apply}>
              Save and restart
            </Action>
            <button type="button" onClick={() => setWanted(new Map())}>
              Discard
            </button>
          </div>
        </div>
      )}
      <Table
        label="Tools"
        columns={toolColumns(name, wanted, toggle, setRenamed)}
        rows={tools}
        keyOf={(tool) => tool.name}
      />
      {renamed !== undefined && (
        <Suspense>
          <RenameDialog name={name} tool={renamed} onClose={() => setRenamed(undefined)} />
        </Suspense>
      )}
    </section>
  );
}

function toolColumns(
  name: string,
  wanted: ReadonlyMap<string, boolean>,
  toggle: (tool: ListedTool, isShown: boolean) => void,
  rename: (tool: ListedTool) => void,
): readonly Column<ListedTool>[] {
  return [
    {
      id: 'tool',
      head: 'Tool',
      width: 9,
      grow: 2,
      order: (tool) => tool.name,
      cell: (tool) => (
        <Link href={`/w/${encodeURIComponent(name)}/tools?tool=${encodeURIComponent(tool.name)}`}>
          <ForeignText>{tool.name}</ForeignText>
        </Link>
      ),
    },
    {
      id: 'original',
      head: 'Renamed from',
      width: 6,
      grow: 1,
      rank: 3,
      order: ({ name: seen, original_name: original }) => (seen === original ? undefined : original),
      cell: ({ name: seen, original_name: original }) =>
        seen === original ? null : <ForeignText>{original}</ForeignText>,
    },
    {
      id: 'state',
      head: 'Review',
      width: 9,
      rank: 2,
      order: ({ pin }) => pin?.state,
      cell: ({ pin }) =>
        pin === undefined || pin.state === 'approved' ? null : (
          <span className="badge warning">{pin.state}</span>
        ),
    },
    {
      id: 'tokens',
      head: 'Tokens',
      kind: 'number',
      width: 4,
      rank: 1,
      order: ({ estimated_tokens: tokens }) => tokens,
      cell: ({ estimated_tokens: tokens }) => tokens.toLocaleString('en'),
    },
    {
      id: 'actions',
      head: 'Actions',
      kind: 'actions',
      width: 11,
      cell: (tool) => (
        <>
          <label className="switch">
            <input
              type="checkbox"
              role="switch"
              aria-label={`Offer ${plainForeign(tool.name)}`}
              checked={wanted.get(tool.name) ?? tool.is_shown}
              onChange={({ target }) => toggle(tool, target.checked)}
            />
            Offered
          </label>
          <Action aria-label={`Rename ${plainForeign(tool.name)}`} onClick={() => rename(tool)}>
            Rename
          </Action>
        </>
      ),
    },
  ];
}
