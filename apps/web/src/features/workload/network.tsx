import { useState } from 'react';
import type { ReactNode } from 'react';
import type { NetworkDecision } from '@toolhive/contract/network';
import { hostHistory, networkDecisions, permissions } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Strip } from '../../ui/drawing/strip.tsx';
import { ago, bytes, count } from '../../ui/format.ts';
import { PermissionList } from '../../ui/permissions.tsx';
import { useQuery } from '../../ui/query.ts';
import { Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { AskedAccess, placeToAllow } from './asked-access.tsx';
import type { Ask } from './asked-access.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';

/** Which hosts the server tried to reach, and the rules that decided. */
export function Network(): ReactNode {
  const name = useWorkloadName();
  const decisions = networkDecisions(name);
  const allowed = permissions(name);
  const loaded = useResource(decisions);
  const granted = useResource(allowed);
  const [isDeniedOnly, setDeniedOnly] = useState(false);
  const [filter, setFilter] = useQuery('q');
  const isShown = (decision: NetworkDecision): boolean =>
    (!isDeniedOnly || decision.verdict === 'denied') &&
    targetOf(decision).toLowerCase().includes(filter.toLowerCase());
  const [asked, setAsked] = useState<Ask | undefined>();
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={granted} name={allowed.key} what="the permissions">
        {(data) => (
          <>
            <PermissionList permissions={data} />
            {data.learning === undefined && (
              <div className="buttons">
                <Action onClick={() => setAsked({ kind: 'learn' })}>Learn the required access</Action>
                <Action onClick={() => setAsked({ kind: 'network' })}>Change the network access</Action>
              </div>
            )}
          </>
        )}
      </Shown>
      <h2>Connections</h2>
      <Shown loaded={loaded} name={decisions.key} what="the connections">
        {(list) =>
          list.length === 0 ? (
            <p>The server has not tried to reach any host since it started.</p>
          ) : (
            <>
              <ConnectionStrip name={name} />
              <div className="toolbar">
                <input
                  type="search"
                  value={filter}
                  placeholder="Filter by host"
                  aria-label="Filter connections"
                  onChange={({ target }) => setFilter(target.value)}
                />
                <label className="choice">
                  <input
                    type="checkbox"
                    checked={isDeniedOnly}
                    onChange={({ target }) => setDeniedOnly(target.checked)}
                  />
                  Denied only
                </label>
                {list.some(({ verdict }) => verdict === 'allowed') && (
                  <Action onClick={() => setAsked({ kind: 'tighten' })}>
                    Allow only the hosts in this list
                  </Action>
                )}
              </div>
              {!list.some(({ verdict }) => verdict === 'denied') && (
                <p className="good">Nothing was blocked since {ago(firstOf(list))}.</p>
              )}
              <Decisions
                list={list.filter(isShown)}
                onAllow={(place) => setAsked({ kind: 'allow', place })}
                onDeny={(host) => setAsked({ kind: 'deny', host })}
              />
            </>
          )
        }
      </Shown>
      {asked !== undefined && <AskedAccess name={name} ask={asked} onClose={() => setAsked(undefined)} />}
    </WorkloadFrame>
  );
}

function firstOf(list: readonly NetworkDecision[]): string {
  return list.map(({ first_at: at }) => at).reduce((a, b) => (a < b ? a : b));
}

function Decisions({
  list,
  onAllow,
  onDeny,
}: {
  list: readonly NetworkDecision[];
  onAllow: (rule: string) => void;
  onDeny: (rule: string) => void;
}): ReactNode {
  return (
    <Table
      label="Connections"
      columns={columns(onAllow, onDeny)}
      rows={list}
      keyOf={(decision) => `${targetOf(decision)} ${decision.verdict}`}
    />
  );
}

export const targetOf = ({ host, port }: NetworkDecision): string =>
  port === undefined ? host : `${host}:${port}`;

function columns(
  onAllow: (rule: string) => void,
  onDeny: (rule: string) => void,
): readonly Column<NetworkDecision>[] {
  return [
    {
      id: 'host',
      head: 'Host',
      width: 13,
      grow: 2,
      order: targetOf,
      cell: (decision) => <ForeignText>{targetOf(decision)}</ForeignText>,
    },
    {
      id: 'decision',
      head: 'Decision',
      width: 5,
      order: ({ verdict }) => verdict,
      cell: ({ verdict }) => <span className={verdict === 'denied' ? 'problem' : 'good'}>{verdict}</span>,
    },
    {
      id: 'why',
      head: 'Rule or reason',
      width: 7,
      grow: 2,
      rank: 2,
      order: ({ verdict, rule, reason }) => (verdict === 'denied' ? reason : rule),
      cell: ({ verdict, rule, reason }) => (
        <ForeignText>{(verdict === 'denied' ? reason : rule) ?? ''}</ForeignText>
      ),
    },
    {
      id: 'count',
      head: 'Count',
      kind: 'number',
      width: 4,
      rank: 1,
      order: ({ count: amount }) => amount,
      cell: ({ count: amount }) => amount.toLocaleString('en'),
    },
    {
      id: 'bytes',
      head: 'Sent / received',
      kind: 'number',
      width: 9,
      rank: 4,
      order: ({ sent_bytes: sent, received_bytes: received }) => sent + received,
      cell: ({ sent_bytes: sent, received_bytes: received }) => `${bytes(sent)} / ${bytes(received)}`,
    },
    {
      id: 'last',
      head: 'Last',
      kind: 'number',
      width: 7.5,
      rank: 3,
      order: ({ last_at: at }) => Date.parse(at),
      cell: ({ last_at: at }) => ago(at),
    },
    {
      id: 'actions',
      head: 'Actions',
      kind: 'actions',
      width: 7,
      cell: (decision) => {
        const { host, verdict, rule, fix } = decision;
        const target = targetOf(decision);
        const place = placeToAllow(fix);
        if (verdict === 'denied')
          return place === undefined ? (
            <span className="quiet" title="No rule can allow this connection">
              Always denied
            </span>
          ) : (
            <Action aria-label={`Allow ${plainForeign(target)}`} onClick={() => onAllow(place)}>
              Allow
            </Action>
          );
        return (
          verdict === 'allowed' &&
          rule === host && (
            <Action aria-label={`Deny ${plainForeign(host)}`} onClick={() => onDeny(host)}>
              Deny
            </Action>
          )
        );
      },
    },
  ];
}

/** The connections of each minute of the last hour. */
function ConnectionStrip({ name }: { name: string }): ReactNode {
  const { data } = useResource(hostHistory(name));
  if (data === undefined || data.series.length === 0) return null;
  const [allowed, denied] = [new Map<number, number>(), new Map<number, number>()];
  for (const { points } of data.series) {
    for (const [index, step] of points?.at.entries() ?? []) {
      allowed.set(step, (allowed.get(step) ?? 0) + (points?.calls[index] ?? 0));
      denied.set(step, (denied.get(step) ?? 0) + (points?.denied?.[index] ?? 0));
    }
  }
  const from = Date.parse(data.from);
  const moments = Array.from({ length: 60 }, (_, step) => {
    const amounts = [allowed.get(step) ?? 0, denied.get(step) ?? 0];
    const at = new Date(from + step * 60_000).toLocaleTimeString([], { timeStyle: 'short' });
    return { key: step, amounts, label: `${at}: ${amounts[0]} allowed, ${amounts[1]} denied` };
  });
  const total = (amounts: ReadonlyMap<number, number>): number =>
    [...amounts.values()].reduce((sum, next) => sum + next, 0);
  return (
    <Strip
      moments={moments}
      classes={['drawn-amount', 'drawn-bad']}
      label={`The last hour: ${count(total(allowed), 'connection')} allowed, ${total(denied).toLocaleString('en')} denied`}
    />
  );
}
