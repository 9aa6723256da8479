import type { ReactNode } from 'react';
import { machineDiagnosis } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { FindingsTable } from './findings-table.tsx';
import { Tiles } from './tiles.tsx';
import { ago } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';

/** The diagnosis of this machine, and of every workload and client. */
export function Doctor(): ReactNode {
  const loaded = useResource(machineDiagnosis);
  return (
    <Page
      title="Doctor"
      help="/toolhive/tutorials/quickstart-cli"
      action={
        <Action disabled={loaded.isLoading} onClick={() => refresh(machineDiagnosis.key)}>
          {loaded.isLoading ? 'Checking' : 'Check again'}
        </Action>
      }
    >
      <Shown loaded={loaded} name={machineDiagnosis.key} what="the diagnosis">
        {({ healthy, findings }) => (
          <>
            <p className={healthy ? 'good' : 'problem'} role="status">
              {healthy ? 'Everything that was checked works.' : 'Something does not work.'}{' '}
              {loaded.at !== undefined && <span className="quiet">Checked {ago(loaded.at)}.</span>}
            </p>
            <Tiles findings={findings} />
            <FindingsTable findings={findings} />
          </>
        )}
      </Shown>
    </Page>
  );
}
