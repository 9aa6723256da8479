import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ClientName, ClientStatus } from '@toolhive/contract/client-application';
import type { Diagnosis } from '@toolhive/contract/diagnosis';
import { client } from '../../api/client.ts';
import { clients, groups } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Findings } from '../../ui/findings.tsx';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';
import { AdoptionSection } from './adoption.tsx';
import { Preview } from './preview.tsx';

/** The AI clients that ToolHive configures, and the groups that each sees. */
export function Clients(): ReactNode {
  const loaded = useResource(clients);
  const { data: allGroups = [] } = useResource(groups);
  const [diagnosis, setDiagnosis] = useState<Diagnosis | undefined>();
  const [previewed, setPreviewed] = useState<{ name: ClientName; group: string } | undefined>();
  const names = allGroups.map(({ name }) => name);
  const toggle = (name: ClientName, group: string, isOn: boolean): Promise<boolean> =>
    attempt('Cannot change the client', async () => {
      const body = { names: [name], groups: [group] };
      await (isOn ? client.registerClients({ body }) : client.unregisterClients({ body }));
      refresh(clients.key);
      refresh(groups.key);
    });
  const check = (name: ClientName): void =>
    void attempt('Cannot check the client', async () =>
      setDiagnosis(await client.diagnoseClient({ params: { name } })),
    );
  const columns: readonly Column<Client>[] = [
    {
      id: 'name',
      head: 'Client',
      width: 8,
      grow: 1,
      order: ({ client_type: name }) => name,
      cell: ({ client_type: name }) => name,
    },
    {
      id: 'state',
      head: 'State',
      width: 7.5,
      grow: 2,
      order: stateOf,
      cell: (row) => <State client={row} />,
    },
    {
      id: 'groups',
      head: 'Groups',
      width: 9,
      grow: 3,
      cell: (row) =>
        isUsable(row) && (
          <GroupChoice
            client={row}
            groups={names}
            onChange={(group, isOn) =>
              isOn
                ? setPreviewed({ name: row.client_type, group })
                : void toggle(row.client_type, group, false)
            }
          />
        ),
    },
    {
      id: 'actions',
      head: 'Actions',
      kind: 'actions',
      width: 4.5,
      cell: (row) =>
        isUsable(row) && (
          <Action aria-label={`Check ${row.client_type}`} onClick={() => check(row.client_type)}>
            Check
          </Action>
        ),
    },
  ];
  return (
    <Page title="Clients" help="/toolhive/guides-ui/client-configuration">
      <p>
        ToolHive adds the URLs of running workloads to a client’s configuration file and keeps the URLs up to
        date. ToolHive changes nothing else in the file.
      </p>
      <AdoptionSection />
      <Shown loaded={loaded} name={clients.key} what="the clients">
        {(list) => (
          <Table
            label="Clients"
            columns={columns}
            rows={list.toSorted((a, b) => Number(b.installed) - Number(a.installed))}
            keyOf={({ client_type: name }) => name}
          />
        )}
      </Shown>
      {previewed !== undefined && (
        <Preview
          {...previewed}
          onClose={() => setPreviewed(undefined)}
          onAccept={() => {
            setPreviewed(undefined);
            void toggle(previewed.name, previewed.group, true);
          }}
        />
      )}
      {diagnosis !== undefined && (
        <Dialog title={diagnosis.subject} onClose={() => setDiagnosis(undefined)}>
          <Findings findings={diagnosis.findings} />
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </Dialog>
      )}
    </Page>
  );
}

type Client = ClientStatus & { groups: readonly string[] };

const isUsable = ({ installed, registered }: Client): boolean => installed || registered;

function stateOf({ installed, registered, problem }: Client): number {
  return problem !== undefined ? 0 : registered ? 1 : installed ? 2 : 3;
}

function State({ client: { installed, registered, problem } }: { client: Client }): ReactNode {
  return (
    <>
      {registered && <span className="badge">connected</span>}{' '}
      {!installed && <span className="quiet">not installed</span>}
      {problem !== undefined && (
        <span className="problem">
          <ForeignText>{problem}</ForeignText>
        </span>
      )}
    </>
  );
}

/** The groups in a row. The dialog of the row has all of them. */
const maxChoices = 3;

function GroupChoice({
  client: { client_type: name, groups: registeredIn },
  groups: all,
  onChange,
}: {
  client: Client;
  groups: readonly string[];
  onChange: (group: string, isOn: boolean) => void;
}): ReactNode {
  return (
    <fieldset>
      <legend className="visually-hidden">Groups that {name} sees</legend>
      {all.map((group) => (
        <label key={group} className="choice">
          <input
            type="checkbox"
            checked={registeredIn.includes(group)}
            onChange={({ target }) => onChange(group, target.checked)}
          />
          <span>{group}</span>
        </label>
      ))}
      {all.length > maxChoices && <span className="more quiet">and {all.length - maxChoices} more</span>}
    </fieldset>
  );
}
