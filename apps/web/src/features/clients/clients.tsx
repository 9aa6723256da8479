import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ClientName, ClientStatus } from '@toolhive/contract/client-application';
import type { Diagnosis } from '@toolhive/contract/diagnosis';
import { client } from '../../api/client.ts';
import { clients, groups } from '../../api/resources.ts';
import { reloaded, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { ClientMark } from '../../ui/client-mark.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Findings } from '../../ui/findings.tsx';
import { count } from '../../ui/format.ts';
import { Instant } from '../../ui/instant.tsx';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';
import { AdoptionSection } from './adoption.tsx';
import { Preview } from './preview.tsx';

/** The AI clients that ToolHive configures, and the groups that each sees. */
export function Clients(): ReactNode {
  const loaded = useResource(clients);
  const { data: allGroups = [] } = useResource(groups);
  const [diagnosis, setDiagnosis] = useState<Diagnosis | undefined>();
  const [previewed, setPreviewed] = useState<
    { name: ClientName; product: string; group: string } | undefined
  >();
  const names = allGroups.map(({ name }) => name);
  const toggle = async (name: ClientName, group: string, isOn: boolean): Promise<boolean> => {
    const body = { names: [name], groups: [group] };
    const isDone = await attempt('Cannot change the client', () =>
      isOn ? client.registerClients({ body }) : client.unregisterClients({ body }),
    );
    await Promise.all([reloaded(clients.key), reloaded(groups.key)]);
    return isDone;
  };
  const check = (name: ClientName): Promise<boolean> =>
    attempt('Cannot check the client', async () =>
      setDiagnosis(await client.diagnoseClient({ params: { name } })),
    );
  return (
    <Page title="Clients" help="/toolhive/guides-ui/client-configuration">
      <p>
        ToolHive adds the URLs of running servers to a client’s configuration file, keeps them up to date, and
        changes nothing else in the file.
      </p>
      <AdoptionSection />
      <Shown loaded={loaded} name={clients.key} what="the clients">
        {(list) => {
          const [found, others] = [list.filter(isUsable), list.filter((each) => !isUsable(each))];
          return (
            <>
              {found.length === 0 && <p>No supported client was found on this machine.</p>}
              <ul className="cards" aria-label="Clients on this machine">
                {found.map((each) => (
                  <ClientCard
                    key={each.client_type}
                    client={each}
                    groups={names}
                    onCheck={() => check(each.client_type)}
                    onChange={(group, isOn) =>
                      isOn
                        ? setPreviewed({ name: each.client_type, product: each.product, group })
                        : toggle(each.client_type, group, false)
                    }
                  />
                ))}
              </ul>
              <details>
                <summary>{count(others.length, 'other supported client')}, not found on this machine</summary>
                <ul className="plain client-list">
                  {others.map(({ client_type: id, product }) => (
                    <li key={id}>
                      <ClientMark id={id} product={product} /> {product} <span className="quiet">{id}</span>
                    </li>
                  ))}
                </ul>
              </details>
            </>
          );
        }}
      </Shown>
      {previewed !== undefined && (
        <Preview
          {...previewed}
          onClose={() => setPreviewed(undefined)}
          onAccept={async () => {
            if (await toggle(previewed.name, previewed.group, true)) setPreviewed(undefined);
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

function ClientCard({
  client: each,
  groups: all,
  onCheck,
  onChange,
}: {
  client: Client;
  groups: readonly string[];
  onCheck: () => Promise<boolean>;
  onChange: (group: string, isOn: boolean) => unknown;
}): ReactNode {
  const { client_type: id, product, installed, registered, problem } = each;
  return (
    <li className="card client-card">
      <div className="client-head">
        <ClientMark id={id} product={product} />
        <h2>{product}</h2>
        <Action aria-label={`Check ${product}`} onClick={onCheck}>
          Check
        </Action>
      </div>
      <p className="quiet">
        {id}
        {!installed && ', not found on this machine'}
      </p>
      {registered && (
        <p>
          <span className="badge">registered</span>{' '}
          <span className="quiet">ToolHive has written its file. The client may need a restart.</span>
        </p>
      )}
      {problem !== undefined && (
        <p className="problem">
          <ForeignText>{problem}</ForeignText>
        </p>
      )}
      <GroupChoice client={each} groups={all} onChange={onChange} />
    </li>
  );
}

function GroupChoice({
  client: { product, groups: registeredIn },
  groups: all,
  onChange,
}: {
  client: Client;
  groups: readonly string[];
  onChange: (group: string, isOn: boolean) => unknown;
}): ReactNode {
  return (
    <fieldset>
      <legend>Groups that {product} sees</legend>
      {all.map((group) => (
        <Instant key={group} isOn={registeredIn.includes(group)} onChange={(isOn) => onChange(group, isOn)}>
          <span>{group}</span>
        </Instant>
      ))}
    </fieldset>
  );
}
