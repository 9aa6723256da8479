import { useState } from 'react';
import type { ReactNode } from 'react';
import { mountsInUse } from '@toolhive/contract/mounts-in-use';
import type { LearnedMount, LearningProposal, NetworkDecision } from '@toolhive/contract/network';
import { client } from '../../api/client.ts';
import { networkDecisions, permissions } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ago, bytes } from '../../ui/format.ts';
import { PermissionList } from '../../ui/permissions.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { Table } from '../../ui/table.tsx';

/** Which hosts the server tried to reach, and the rules that decided. */
export function Network(): ReactNode {
  const name = useWorkloadName();
  const decisions = networkDecisions(name);
  const allowed = permissions(name);
  const loaded = useResource(decisions);
  const granted = useResource(allowed);
  const [isDeniedOnly, setDeniedOnly] = useState(false);
  const change = (body: { allow?: string[]; deny?: string[]; tighten?: boolean }): Promise<boolean> =>
    attempt('Cannot change the rules', async () => {
      const { restarted } = await client.changePermissions({ params: { name }, body });
      refresh(allowed.key);
      refresh(decisions.key);
      toast(restarted ? 'Saved. The workload restarts.' : 'Saved. The rules apply to new connections.');
    });
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={granted} name={allowed.key} what="the permissions">
        {(data) => (
          <>
            <PermissionList permissions={data} />
            <Learning
              name={name}
              isLearning={data.learning !== undefined}
              onChange={() => refresh(allowed.key)}
            />
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
              <div className="toolbar">
                <label className="choice">
                  <input
                    type="checkbox"
                    checked={isDeniedOnly}
                    onChange={({ target }) => setDeniedOnly(target.checked)}
                  />
                  Denied only
                </label>
                {list.some(({ verdict }) => verdict === 'allowed') && (
                  <Action onClick={() => void change({ tighten: true })}>
                    Allow only the hosts in this list
                  </Action>
                )}
              </div>
              {!list.some(({ verdict }) => verdict === 'denied') && (
                <p className="good">Nothing was blocked since {ago(firstOf(list))}.</p>
              )}
              <Decisions
                list={isDeniedOnly ? list.filter(({ verdict }) => verdict === 'denied') : list}
                onAllow={(rule) => void change({ allow: [rule] })}
                onDeny={(rule) => void change({ deny: [rule] })}
              />
            </>
          )
        }
      </Shown>
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
      columns={[
        'Host',
        'Decision',
        'Rule or reason',
        { number: 'Count' },
        { number: 'Sent / received' },
        'Last',
        { actions: 'Actions' },
      ]}
    >
      {list.map((decision) => {
        const { host, port, verdict, rule, reason, fix } = decision;
        const target = port === undefined ? host : `${host}:${port}`;
        return (
          <tr key={`${target} ${verdict}`}>
            <th scope="row">
              <ForeignText>{target}</ForeignText>
            </th>
            <td className={verdict === 'denied' ? 'problem' : 'good'}>{verdict}</td>
            <td>
              <ForeignText>{(verdict === 'denied' ? reason : rule) ?? ''}</ForeignText>
            </td>
            <td className="number">{decision.count}</td>
            <td className="number">
              {bytes(decision.sent_bytes)} / {bytes(decision.received_bytes)}
            </td>
            <td>{ago(decision.last_at)}</td>
            <td>
              {verdict === 'denied' && fix !== undefined && (
                <Action aria-label={`Allow ${target}`} onClick={() => onAllow(target)}>
                  Allow
                </Action>
              )}
              {verdict === 'allowed' && rule === host && (
                <Action aria-label={`Deny ${host}`} onClick={() => onDeny(host)}>
                  Deny
                </Action>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function describeUse({ granted, used, unknown }: LearnedMount): string {
  if (unknown !== undefined) return `kept, because the use is unknown (${unknown})`;
  if (used === 'none') return 'not used';
  if (used === granted) return used === 'read' ? 'read' : 'read and written';
  return 'only read, and read-only from now on';
}

/** Learning mode: everything public is allowed and recorded, until the user accepts the smallest profile. */
function Learning({
  name,
  isLearning,
  onChange,
}: {
  name: string;
  isLearning: boolean;
  onChange: () => void;
}): ReactNode {
  const [proposal, setProposal] = useState<LearningProposal | undefined>();
  const stop = (isAccepted: boolean): Promise<boolean> =>
    attempt('Cannot stop learning mode', async () => {
      await client.stopLearning({
        params: { name },
        body:
          isAccepted && proposal !== undefined
            ? { network: proposal.network, mounts: mountsInUse(proposal.mounts) }
            : {},
      });
      setProposal(undefined);
      onChange();
    });
  return (
    <div className="buttons">
      {isLearning ? (
        <Action
          onClick={() =>
            void attempt('Cannot read the learned rules', async () =>
              setProposal(await client.getLearning({ params: { name } })),
            )
          }
        >
          Stop learning mode
        </Action>
      ) : (
        <Action
          onClick={() =>
            void attempt('Cannot start learning mode', async () => {
              await client.startLearning({ params: { name } });
              onChange();
            })
          }
        >
          Learn the required access
        </Action>
      )}
      {proposal !== undefined && (
        <Dialog title="The smallest sufficient profile" onClose={() => setProposal(undefined)}>
          {!proposal.complete && <p className="problem">The record was full, so hosts may be missing.</p>}
          <ul className="plain">
            {proposal.hosts.added.map((host) => (
              <li key={host} className="diff-added">
                + <ForeignText>{host}</ForeignText>
              </li>
            ))}
            {proposal.hosts.removed.map((host) => (
              <li key={host} className="diff-removed">
                − <ForeignText>{host}</ForeignText>
              </li>
            ))}
            {proposal.hosts.kept.map((host) => (
              <li key={host}>
                <ForeignText>{host}</ForeignText>
              </li>
            ))}
          </ul>
          <p>
            {proposal.network.hosts.length === 0
              ? 'The server reached no host, so it gets no network.'
              : `Ports: ${proposal.network.ports.join(', ')}`}
          </p>
          {proposal.mounts.length > 0 && (
            <ul className="plain">
              {proposal.mounts.map((mount) => (
                <li key={mount.target} className={mount.used === 'none' ? 'diff-removed' : ''}>
                  {mount.used === 'none' && '− '}
                  <ForeignText>{mount.target}</ForeignText>: {describeUse(mount)}
                </li>
              ))}
            </ul>
          )}
          <div className="buttons">
            <Action className="primary" onClick={() => void stop(true)}>
              Use this profile
            </Action>
            <Action onClick={() => void stop(false)}>Keep the old profile</Action>
          </div>
        </Dialog>
      )}
    </div>
  );
}
