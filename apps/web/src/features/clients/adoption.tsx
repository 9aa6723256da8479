import { useState } from 'react';
import type { ReactNode } from 'react';
import type { AdoptedServer, PlannedServer } from '@toolhive/contract/adoption';
import { client } from '../../api/client.ts';
import { adoptionPlan, adoptions, clients, unmanagedServers } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Fixes } from '../../ui/fixes.tsx';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Diff } from '../../ui/diff.tsx';
import { PermissionList } from '../../ui/permissions.tsx';
import { Notice, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';

/** The servers that clients run themselves, with the way to take them over, and the way back. */
export function AdoptionSection(): ReactNode {
  const { data: unmanaged } = useResource(unmanagedServers);
  const { data: adopted = [] } = useResource(adoptions);
  const [dialog, setDialog] = useState<'adopt' | 'undo' | undefined>();
  const servers = unmanaged?.servers ?? [];
  const close = (): void => setDialog(undefined);
  if (servers.length === 0 && adopted.length === 0) return null;
  return (
    <section aria-labelledby="adoption">
      <h2 id="adoption">Servers outside ToolHive</h2>
      {servers.length === 0 ? (
        <p>Your clients run no servers of their own.</p>
      ) : (
        <>
          <p>
            Your clients run these servers themselves, without isolation:{' '}
            <ForeignText>
              {servers.map(({ client_type: type, name }) => `${name} (${type})`).join(', ')}
            </ForeignText>
          </p>
          <Action className="primary" onClick={() => setDialog('adopt')}>
            Take over…
          </Action>
        </>
      )}
      {adopted.length > 0 && (
        <p>
          Taken over:{' '}
          <ForeignText>
            {adopted.map(({ client_type: type, name }) => `${name} (${type})`).join(', ')}
          </ForeignText>{' '}
          <Action onClick={() => setDialog('undo')}>Give back…</Action>
        </p>
      )}
      {dialog === 'adopt' && <AdoptDialog onClose={close} />}
      {dialog === 'undo' && (
        <UndoDialog paths={[...new Set(adopted.map(({ path }) => path))]} onClose={close} />
      )}
    </section>
  );
}

function refreshAll(): void {
  for (const { key } of [clients, unmanagedServers, adoptions, adoptionPlan]) refresh(key);
}

function AdoptDialog({ onClose }: { onClose: () => void }): ReactNode {
  const loaded = useResource(adoptionPlan);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [progress, setProgress] = useState<string | undefined>();
  const [results, setResults] = useState<readonly AdoptedServer[] | undefined>();
  const adopt = async (workloads: string[]): Promise<void> => {
    setProgress('Starting');
    await attempt('Cannot take over the servers', async () => {
      const { servers } = await client.adoptServers({ body: { workloads } }, { onProgress: setProgress });
      setResults(servers);
    });
    setProgress(undefined);
    refreshAll();
  };
  if (results !== undefined) return <Results results={results} onClose={onClose} />;
  return (
    <Dialog title="Take over servers" onClose={onClose} className="wide">
      <Shown loaded={loaded} name={adoptionPlan.key} what="the servers">
        {({ servers, files, problems }) => {
          const chosen = servers.filter(
            ({ workload, problem }) => problem === undefined && !left.has(workload),
          );
          return (
            <>
              <p>
                ToolHive runs each server in isolation, moves its keys to the secrets, and compares its tools.
                Then the client uses the server through ToolHive. You can give everything back.
              </p>
              <ul className="rows">
                {servers.map((server) => (
                  <li key={server.workload} className="row">
                    <Planned
                      server={server}
                      isChosen={!left.has(server.workload)}
                      onChoose={(isChosen) => {
                        const next = new Set(left);
                        if (isChosen) next.delete(server.workload);
                        else next.add(server.workload);
                        setLeft(next);
                      }}
                    />
                  </li>
                ))}
              </ul>
              {problems.map(({ path, problem }) => (
                <Notice key={path} kind="failure">
                  <ForeignText>{problem}</ForeignText>
                </Notice>
              ))}
              {files.map(({ path, diff }) => (
                <details key={path}>
                  <summary>
                    Change of <ForeignText>{path}</ForeignText>
                  </summary>
                  <Diff text={diff} />
                </details>
              ))}
              {progress !== undefined && (
                <p role="status">
                  <ForeignText>{progress}</ForeignText>
                </p>
              )}
              <div className="buttons">
                <Action
                  className="primary"
                  disabled={chosen.length === 0}
                  onClick={() => adopt(chosen.map(({ workload }) => workload))}
                >
                  Take over {chosen.length} {chosen.length === 1 ? 'server' : 'servers'}
                </Action>
                <button type="button" onClick={onClose}>
                  Cancel
                </button>
              </div>
            </>
          );
        }}
      </Shown>
    </Dialog>
  );
}

function Planned({
  server,
  isChosen,
  onChoose,
}: {
  server: PlannedServer;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
}): ReactNode {
  const { workload, places, command, url, check, credentials, notes, problem, hint } = server;
  const from = places.map(({ client_type: type, name }) => `${name} (${type})`).join(', ');
  return (
    <div className="row-main">
      <label className="choice">
        <input
          type="checkbox"
          checked={problem === undefined && isChosen}
          disabled={problem !== undefined}
          onChange={({ target }) => onChoose(target.checked)}
        />
        <strong>
          <ForeignText>{workload}</ForeignText>
        </strong>
      </label>
      <span className="quiet">
        <ForeignText>{from}</ForeignText>
      </span>
      <code>
        <ForeignText>{command?.join(' ') ?? url ?? ''}</ForeignText>
      </code>
      {problem !== undefined && (
        <div className="problem">
          Stays as it is: <ForeignText>{problem}</ForeignText>
          <Fixes hint={hint} />
        </div>
      )}
      {check?.permissions !== undefined && <PermissionList permissions={check.permissions} />}
      {credentials.length > 0 && (
        <p>
          Moves to the secrets: <ForeignText>{credentials.join(', ')}</ForeignText>
        </p>
      )}
      {[...notes, ...(check?.notes ?? [])].map((note) => (
        <p key={note}>
          <ForeignText>{note}</ForeignText>
        </p>
      ))}
    </div>
  );
}

function Results({
  results,
  onClose,
}: {
  results: readonly AdoptedServer[];
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog title="Servers taken over" onClose={onClose}>
      <ul className="rows">
        {results.map(({ workload, problem, hint, notes }) => (
          <li key={workload} className="row">
            <div className="row-main">
              <strong>
                <ForeignText>{workload}</ForeignText>
              </strong>
              {problem === undefined ? (
                <span className="badge">taken over</span>
              ) : (
                <div className="problem">
                  Stays as it is: <ForeignText>{problem}</ForeignText>
                  <Fixes hint={hint} />
                </div>
              )}
              {notes.map((note) => (
                <p key={note}>
                  <ForeignText>{note}</ForeignText>
                </p>
              ))}
            </div>
          </li>
        ))}
      </ul>
      <p>Restart your clients, because most of them read their configuration only at their start.</p>
      <form method="dialog" className="buttons">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

function UndoDialog({ paths, onClose }: { paths: readonly string[]; onClose: () => void }): ReactNode {
  const undo = async (): Promise<void> => {
    await attempt('Cannot give the servers back', async () => {
      const { files } = await client.undoAdoption({ body: {} }, { onProgress: () => {} });
      const problem = files.find((file) => file.problem !== undefined)?.problem;
      if (problem !== undefined) throw new Error(problem);
    });
    refreshAll();
    onClose();
  };
  return (
    <Dialog title="Give the servers back" onClose={onClose}>
      <p>
        ToolHive restores these files. Changes that were made to them since are kept. The servers are stopped.
      </p>
      <ul>
        {paths.map((path) => (
          <li key={path}>
            <code>
              <ForeignText>{path}</ForeignText>
            </code>
          </li>
        ))}
      </ul>
      <div className="buttons">
        <Action className="primary" onClick={() => undo()}>
          Give back
        </Action>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
