import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import type { ClientName } from '@toolhive/contract/client-application';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import { callMcp } from '../../api/mcp.ts';
import { clients, runtimes, workloads } from '../../api/resources.ts';
import { failureOf, refresh, useResource } from '../../api/store.ts';
import { Fixes } from '../../ui/fixes.tsx';
import { Action } from '../../ui/action.tsx';
import { Page } from '../../ui/page.tsx';
import { Failure, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';

/** The server of the first run. It needs no key, no files, and no network. */
const firstServer = 'everything';

/** Leads from an empty daemon to a tool call and a connected client. Each step is verified before the next. */
export function Welcome(): ReactNode {
  const checks = useResource(runtimes);
  return (
    <Page title="Get started" help="/toolhive/tutorials/quickstart-ui">
      <p>
        Run an MCP server in isolation, call one of its tools, and connect an AI client. This takes about a
        minute.
      </p>
      <Shown loaded={checks} name={runtimes.key} what="the runtimes">
        {({ chosen, runtimes: found }) => {
          const used = found.find(({ runtime }) => runtime === chosen);
          return (
            <ol className="steps">
              <li>
                <h2>Isolation</h2>
                {chosen === null ? (
                  <>
                    <p className="problem">No server can run on this machine yet.</p>
                    {found.map(({ runtime, detail, hint }) => (
                      <div key={runtime}>
                        <strong>{runtime}</strong>: {detail}
                        <Fixes hint={hint} />
                      </div>
                    ))}
                    <Action onClick={() => refresh(runtimes.key)}>Check again</Action>
                  </>
                ) : (
                  <p className="good">
                    ✓ Servers run in{' '}
                    {used?.runs === 'packages' ? 'the sandbox of this machine' : 'containers'}: {used?.detail}
                  </p>
                )}
              </li>
              {chosen !== null && <Steps />}
            </ol>
          );
        }}
      </Shown>
    </Page>
  );
}

function Steps(): ReactNode {
  const { data: list = [] } = useResource(workloads);
  const existing = list.find(({ name }) => name === firstServer);
  const [progress, setProgress] = useState<string | undefined>();
  const [failure, setFailure] = useState<ThvError | undefined>();
  const [answer, setAnswer] = useState<string | undefined>();
  const isRunning = existing?.status === 'running';
  const run = async (): Promise<void> => {
    setFailure(undefined);
    setProgress('Starting');
    try {
      if (existing === undefined) {
        const profile = { name: 'none', network: { outbound: {} } };
        await client.createWorkload(
          { body: { image: firstServer, name: firstServer, permission_profile: profile } },
          { onProgress: setProgress },
        );
      } else await client.startWorkload({ params: { name: firstServer } }, { onProgress: setProgress });
      refresh(workloads.key);
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
    setProgress(undefined);
  };
  const call = async (): Promise<void> => {
    setFailure(undefined);
    try {
      const result = await callMcp(
        { workload: firstServer },
        { method: 'tools/call', params: { name: 'echo', arguments: { message: 'Hello from ToolHive' } } },
        { signal: AbortSignal.timeout(30_000), onProgress() {}, onLog() {}, onInput: async () => ({}) },
      );
      const [first] = Array.isArray(result['content']) ? (result['content'] as { text?: unknown }[]) : [];
      setAnswer(typeof first?.text === 'string' ? first.text : JSON.stringify(result));
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
  };
  return (
    <>
      <li>
        <h2>Run a server</h2>
        <p>
          The server <strong>{firstServer}</strong> demonstrates every feature of MCP. It cannot access your
          files or the network.
        </p>
        {isRunning ? (
          <p className="good">
            ✓ The server <strong>{firstServer}</strong> is running
          </p>
        ) : (
          <Action className="primary" onClick={() => run()}>
            Run {firstServer}
          </Action>
        )}
        <p role="status">
          {progress !== undefined && (
            <>
              <progress aria-label="Installation" /> <ForeignText>{progress}</ForeignText>
            </>
          )}
        </p>
      </li>
      {failure !== undefined && <Failure failure={failure} />}
      {isRunning && (
        <li>
          <h2>Call a tool</h2>
          {answer === undefined ? (
            <Action className="primary" onClick={() => call()}>
              Call the tool echo
            </Action>
          ) : (
            <>
              <p className="good">✓ The server answered</p>
              <div className="foreign">
                <span className="from">From {firstServer}</span>
                <ForeignText>{answer}</ForeignText>
              </div>
            </>
          )}
        </li>
      )}
      {answer !== undefined && <ConnectClient />}
    </>
  );
}

function ConnectClient(): ReactNode {
  const loaded = useResource(clients);
  const [failure, setFailure] = useState<ThvError | undefined>();
  useEffect(() => refresh(clients.key), []);
  const connect = async (name: ClientName): Promise<void> => {
    setFailure(undefined);
    try {
      await client.registerClients({ body: { names: [name], groups: ['default'] } });
      refresh(clients.key);
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
  };
  return (
    <li>
      <h2>Connect a client</h2>
      <Shown loaded={loaded} name={clients.key} what="the clients">
        {(list) => {
          const installed = list.filter((each) => each.installed);
          const connected = installed.filter(({ registered }) => registered);
          return (
            <>
              {installed.length === 0 && (
                <p>
                  No supported client was found on this machine. Install one, such as VS Code or Claude Code,
                  or <Link href={`/w/${firstServer}`}>copy the URL of the server</Link> into your client.
                </p>
              )}
              <ul className="rows">
                {installed.map(({ client_type: name, product, registered, problem }) => (
                  <li key={name} className="row">
                    <span className="row-main">
                      <strong>{product}</strong>
                      {problem !== undefined && (
                        <span className="problem">
                          <ForeignText>{problem}</ForeignText>
                        </span>
                      )}
                    </span>
                    {registered ? (
                      <span className="good">✓ registered</span>
                    ) : (
                      <Action aria-label={`Connect ${product}`} onClick={() => connect(name)}>
                        Connect
                      </Action>
                    )}
                  </li>
                ))}
              </ul>
              {failure !== undefined && <Failure failure={failure} title="Cannot connect the client" />}
              {(connected.length > 0 || installed.length === 0) && (
                <p>
                  You are done. The client may need a restart to read its changed file.{' '}
                  <Link href="/">See your servers</Link> or <Link href="/add">add another server</Link>.
                </p>
              )}
            </>
          );
        }}
      </Shown>
    </li>
  );
}
