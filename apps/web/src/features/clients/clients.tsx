import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ClientName } from '@toolhive/contract/client-application';
import type { Diagnosis } from '@toolhive/contract/diagnosis';
import { client } from '../../api/client.ts';
import { clients, groups } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Findings } from '../../ui/findings.tsx';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.tsx';
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
  return (
    <Page title="Clients" help="/toolhive/guides-ui/client-configuration">
      <p>
        ToolHive adds the URLs of running workloads to a client’s configuration file and keeps the URLs up to
        date. ToolHive changes nothing else in the file.
      </p>
      <AdoptionSection />
      <Shown loaded={loaded} name={clients.key} what="the clients">
        {(list) => (
          <ul className="rows">
            {list
              .toSorted((a, b) => Number(b.installed) - Number(a.installed))
              .map(({ client_type: name, installed, registered, problem, groups: registeredIn }) => (
                <li key={name} className="row">
                  <div className="row-main">
                    <strong>{name}</strong>
                    {!installed && <span className="quiet">not installed</span>}
                    {registered && <span className="badge">connected</span>}
                    {problem !== undefined && (
                      <span className="problem">
                        <ForeignText>{problem}</ForeignText>
                      </span>
                    )}
                  </div>
                  {(installed || registered) && (
                    <fieldset className="row-actions">
                      <legend className="visually-hidden">Groups that {name} sees</legend>
                      {names.map((group) => (
                        <label key={group} className="choice">
                          <input
                            type="checkbox"
                            checked={registeredIn.includes(group)}
                            onChange={({ target }) =>
                              target.checked ? setPreviewed({ name, group }) : void toggle(name, group, false)
                            }
                          />
                          {group}
                        </label>
                      ))}
                    </fieldset>
                  )}
                  {(installed || registered) && (
                    <Action
                      aria-label={`Check ${name}`}
                      onClick={() =>
                        void attempt('Cannot check the client', async () =>
                          setDiagnosis(await client.diagnoseClient({ params: { name } })),
                        )
                      }
                    >
                      Check
                    </Action>
                  )}
                </li>
              ))}
          </ul>
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
