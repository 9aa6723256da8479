import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ClientName } from '@toolhive/contract/client-application';
import type { Group } from '@toolhive/contract/group';
import type { Workload } from '@toolhive/contract/workload';
import { Link, useLocation, useParams } from 'wouter';
import { client } from '../../api/client.ts';
import { clients, groups, workloads } from '../../api/resources.ts';
import { refresh, reloaded, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { count } from '../../ui/format.ts';
import { Instant } from '../../ui/instant.tsx';
import { MenuButton } from '../../ui/menu.tsx';
import { Page } from '../../ui/page.tsx';
import { decoded } from '../../ui/query.ts';
import { Empty, Overtaken, Shown } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { useFollowed } from '../../ui/followed.ts';
import { attempt, toast, withUndo } from '../../ui/toasts.ts';
import { Form, TextField } from '../../ui/fields.tsx';
import { SharedTurn, useOwnTurn, useTurn } from '../../ui/turn.ts';

/** The workloads of a group and the clients that see them. */
export function GroupScreen(): ReactNode {
  const { name: encoded = '' } = useParams();
  const name = decoded(encoded);
  const loaded = useResource(groups);
  return (
    <Page title={`Group ${name}`} help="/toolhive/guides-ui/group-management">
      <Shown loaded={loaded} name={groups.key} what="the group">
        {(all) => {
          const group = all.find((each) => each.name === name);
          return group === undefined ? (
            <Empty title="This group does not exist" action={<Link href="/groups">All groups</Link>} />
          ) : (
            <Content
              key={name}
              group={group}
              others={all.filter((each) => each !== group).map((each) => each.name)}
            />
          );
        }}
      </Shown>
    </Page>
  );
}

function Content({ group, others }: { group: Group; others: readonly string[] }): ReactNode {
  const { name } = group;
  const [, navigate] = useLocation();
  const members = (useResource(workloads).data ?? []).filter((workload) => workload.group === name);
  const remove = (): void => {
    withUndo(`Removing the group ${name}. Its ${count(members.length, 'server')} move to the group default`, {
      onUndo() {},
      run: () =>
        void attempt('Cannot remove the group', async () => {
          await client.deleteGroup({ params: { name }, query: {} });
          refresh(groups.key);
        }),
    });
    navigate('/groups');
  };
  return (
    <>
      <h2>Servers</h2>
      {members.length === 0 ? (
        <p className="quiet">This group has no servers.</p>
      ) : (
        <Table
          label="Servers"
          columns={memberColumns(others)}
          rows={members}
          keyOf={({ name: member }) => member}
          onOpen={({ name: member }) => navigate(`/w/${encodeURIComponent(member)}`)}
          firstSort={{ id: 'name', isDescending: false }}
        />
      )}
      <Members group={group} />
      <EndpointSwitches group={group} />
      <Details group={group} onRenamed={(next) => navigate(`/groups/${encodeURIComponent(next)}`)} />
      {name !== 'default' && (
        <Action className="dangerous" onClick={remove}>
          Remove this group
        </Action>
      )}
    </>
  );
}

function memberColumns(others: readonly string[]): readonly Column<Workload>[] {
  const columns: Column<Workload>[] = [
    {
      id: 'name',
      head: 'Name',
      width: 9,
      grow: 1,
      order: ({ name }) => name,
      cell: ({ name }) => <Link href={`/w/${encodeURIComponent(name)}`}>{name}</Link>,
    },
    {
      id: 'state',
      head: 'State',
      width: 7,
      order: ({ status }) => status,
      cell: ({ status }) => <Status status={status} />,
    },
  ];
  if (others.length === 0) return columns;
  return [
    ...columns,
    {
      id: 'actions',
      head: 'Actions',
      kind: 'actions',
      width: 8,
      cell: ({ name }) => <Move name={name} others={others} />,
    },
  ];
}

function Move({ name, others }: { name: string; others: readonly string[] }): ReactNode {
  const move = (group: string): Promise<boolean> =>
    attempt(`Cannot move ${name}`, async () => {
      const details = await client.getWorkload({ params: { name } });
      await client.editWorkload({
        params: { name },
        headers: { 'if-match': `"${details.revision}"` },
        body: { ...details, group },
      });
      refresh(workloads.key);
      toast(`Moved ${name} to ${group}. The server restarts.`);
    });
  const turn = useTurn();
  // Not a list to choose from: the arrow keys would choose, and each choice is a restart.
  return (
    <MenuButton
      label={`Move to another group: ${name}`}
      className=""
      isBusy={turn.holder !== undefined}
      items={others.map((other) => ({ label: other, run: () => turn.run(name, () => move(other)) }))}
    >
      Move to
    </MenuButton>
  );
}

function Members({ group }: { group: Group }): ReactNode {
  const loaded = useResource(clients);
  const toggle = async (client_type: ClientName, isOn: boolean): Promise<void> => {
    const body = { names: [client_type], groups: [group.name] };
    await attempt('Cannot change the client', () =>
      isOn ? client.registerClients({ body }) : client.unregisterClients({ body }),
    );
    await Promise.all([reloaded(groups.key), reloaded(clients.key)]);
  };
  return (
    <>
      <h2>Clients</h2>
      <Shown loaded={loaded} name={clients.key} what="the clients">
        {(list) => {
          const shown = list.filter(
            ({ installed, client_type: type }) => installed || group.registered_clients.includes(type),
          );
          return shown.length === 0 ? (
            <p className="quiet">No supported client was found on this machine.</p>
          ) : (
            <ul>
              {shown.map(({ client_type: type, product }) => (
                <li key={type}>
                  <Instant
                    isOn={group.registered_clients.includes(type)}
                    onChange={(isOn) => toggle(type, isOn)}
                  >
                    {product}
                  </Instant>
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </>
  );
}

function EndpointSwitches({ group: { name, endpoint } }: { group: Group }): ReactNode {
  const turn = useOwnTurn();
  const change = async (to: 'meta' | 'combined', isOn: boolean): Promise<void> => {
    await attempt('Cannot change the endpoint', () =>
      client.editGroup({ params: { name }, body: { endpoint: isOn ? to : 'none' } }),
    );
    await Promise.all([reloaded(groups.key), reloaded(workloads.key)]);
  };
  return (
    <SharedTurn value={turn}>
      <h2>Meta server</h2>
      <Instant isOn={endpoint === 'meta'} onChange={(isOn) => change('meta', isOn)}>
        Give clients only a meta server, which finds and calls the tools of all other servers
      </Instant>
      <h2>Combined endpoint</h2>
      <Instant isOn={endpoint === 'combined'} onChange={(isOn) => change('combined', isOn)}>
        Give clients only one endpoint, which offers everything of all servers
      </Instant>
    </SharedTurn>
  );
}

function Details({ group, onRenamed }: { group: Group; onRenamed: (name: string) => void }): ReactNode {
  const [name, setName] = useState(group.name);
  const { description: stored = '' } = group;
  const { text: description, set: setDescription, isOvertaken } = useFollowed(stored);
  const isDefault = group.name === 'default';
  const save = (): Promise<boolean> =>
    attempt('Cannot change the group', async () => {
      await client.editGroup({
        params: { name: group.name },
        body: {
          ...(name === group.name ? {} : { name }),
          ...(description === stored ? {} : { description }),
        },
      });
      refresh(groups.key);
      refresh(workloads.key);
      if (name !== group.name) onRenamed(name);
    });
  return (
    <Form onSubmit={save}>
      <h2>Settings</h2>
      {!isDefault && (
        <TextField
          label="Name"
          isRequired
          maxLength={100}
          pattern="[a-z0-9_\-]+( [a-z0-9_\-]+)*"
          value={name}
          onChange={setName}
        />
      )}
      <TextField label="Description" maxLength={500} value={description} onChange={setDescription} />
      {isOvertaken && (
        <Overtaken name="the description" stored={stored} onUse={() => setDescription(stored)} />
      )}
      <Action type="submit" disabled={name === group.name && description === stored}>
        Save
      </Action>
    </Form>
  );
}
