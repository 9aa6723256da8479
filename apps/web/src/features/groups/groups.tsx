import { useState } from 'react';
import type { ReactNode } from 'react';
import type { Group } from '@toolhive/contract/group';
import { Link, useLocation } from 'wouter';
import { client } from '../../api/client.ts';
import { groups, workloads } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Form } from '../../ui/fields.tsx';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';

interface Row {
  group: Group;
  /** The number of its workloads. */
  workloads: number;
}

const columns: readonly Column<Row>[] = [
  {
    id: 'name',
    head: 'Name',
    width: 9,
    grow: 1,
    order: ({ group: { name } }) => name,
    cell: ({ group: { name } }) => <Link href={`/groups/${encodeURIComponent(name)}`}>{name}</Link>,
  },
  {
    id: 'description',
    head: 'Description',
    width: 9,
    grow: 3,
    rank: 1,
    cell: ({ group: { description = '' } }) => <ForeignText>{description}</ForeignText>,
  },
  {
    id: 'workloads',
    head: 'Servers',
    kind: 'number',
    width: 6,
    order: ({ workloads: amount }) => amount,
    cell: ({ workloads: amount }) => amount.toLocaleString('en'),
  },
  {
    id: 'clients',
    head: 'Clients',
    kind: 'number',
    width: 5,
    order: ({ group }) => group.registered_clients.length,
    cell: ({ group }) => group.registered_clients.length,
  },
];

/** All groups, with their workloads and clients. */
export function Groups(): ReactNode {
  const loaded = useResource(groups);
  const { data: list = [] } = useResource(workloads);
  const [, navigate] = useLocation();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = async (form: HTMLFormElement): Promise<void> => {
    const isDone = await attempt('Cannot create the group', () =>
      client.createGroup({ body: { name, ...(description === '' ? {} : { description }) } }),
    );
    if (!isDone) return;
    setName('');
    setDescription('');
    form.reset(); // the browser forgets that the required field was filled in
    refresh(groups.key);
  };
  return (
    <Page title="Groups" help="/toolhive/guides-ui/group-management">
      <p>A client can use the servers in the groups that it is registered for.</p>
      <Shown loaded={loaded} name={groups.key} what="the groups">
        {(all) => (
          <Table
            label="Groups"
            columns={columns}
            rows={all.map((group) => ({
              group,
              workloads: list.filter((workload) => workload.group === group.name).length,
            }))}
            keyOf={({ group }) => group.name}
            onOpen={({ group }) => navigate(`/groups/${encodeURIComponent(group.name)}`)}
          />
        )}
      </Shown>
      <Form className="inline-fields" onSubmit={create}>
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
      </Form>
    </Page>
  );
}
