import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import { groups, workloads } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { count } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.tsx';

/** All groups, with their workloads and clients. */
export function Groups(): ReactNode {
  const loaded = useResource(groups);
  const { data: list = [] } = useResource(workloads);
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = async (): Promise<void> => {
    const isDone = await attempt('Cannot create the group', () =>
      client.createGroup({ body: { name, ...(description === '' ? {} : { description }) } }),
    );
    if (!isDone) return;
    setName('');
    setDescription('');
    refresh(groups.key);
  };
  return (
    <Page title="Groups" help="/toolhive/guides-ui/group-management">
      <p>A client can use the workloads in the groups that it is registered for.</p>
      <Shown loaded={loaded} name={groups.key} what="the groups">
        {(all) => (
          <ul className="rows">
            {all.map((group) => (
              <li key={group.name} className="row">
                <div className="row-main">
                  <Link className="row-title" href={`/groups/${encodeURIComponent(group.name)}`}>
                    {group.name}
                  </Link>
                  {group.description !== undefined && (
                    <span className="quiet">
                      <ForeignText>{group.description}</ForeignText>
                    </span>
                  )}
                </div>
                <span className="quiet">
                  {count(list.filter((workload) => workload.group === group.name).length, 'workload')},{' '}
                  {count(group.registered_clients.length, 'client')}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <form
        className="inline-fields"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <div>
          <label htmlFor="group-name">Name of a new group</label>
          <input
            id="group-name"
            required
            maxLength={100}
            pattern="[a-z0-9_\-]+( [a-z0-9_\-]+)*"
            title="Lowercase letters, digits, dashes, underscores, and single spaces"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </div>
        <div>
          <label htmlFor="group-description">Description</label>
          <input
            id="group-description"
            maxLength={500}
            value={description}
            onChange={({ target }) => setDescription(target.value)}
          />
        </div>
        <Action type="submit">Create group</Action>
      </form>
    </Page>
  );
}
