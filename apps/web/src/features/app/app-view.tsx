import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import { client } from '../../api/client.ts';
import type { Values } from '../../api/mcp.ts';
import { failureOf } from '../../api/store.ts';
import { Failure, Notice, Skeleton } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { AppFrame } from './app-frame.tsx';
import type { SendToWorkload } from './app-frame.tsx';
import type { AppHostOptions } from './app-host.ts';
import { pageOf } from './app-page.ts';
import type { AppPage } from './app-page.ts';
import { AskedAccess } from './asked-access.tsx';

type Grants = AppHostOptions['grants'];
const nothing: Grants = { connect_hosts: [], resource_hosts: [] };

/** How much an app may write below its frame. */
const maxTexts = 20;

type Stage =
  | { kind: 'loading' }
  | { kind: 'failed'; failure: unknown }
  | { kind: 'shown'; page: AppPage; frame: { url: string; proof: string } }
  | { kind: 'stopped'; reason: string };

/** The app of a tool (MCP Apps), for one result. */
export default function AppView({
  workload,
  tool,
  tools,
  uri,
  args,
  result,
  send,
}: {
  workload: string;
  tool: ListedTool;
  tools: readonly ListedTool[];
  /** The page of the app. */
  uri: string;
  args: Values;
  result: Values;
  send: SendToWorkload;
}): ReactNode {
  const [grants, setGrants] = useState(nothing);
  const [attempt, setAttempt] = useState(0);
  const [stage, setStage] = useState<Stage>({ kind: 'loading' });
  const [texts, setTexts] = useState<readonly { kind: 'log' | 'message'; text: string }[]>([]);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setStage({ kind: 'loading' });
    setTexts([]);
    const load = async (): Promise<void> => {
      try {
        const page = pageOf(await send('resources/read', { uri }, signal), uri);
        const frame = await client.createUiApp({ body: copied(grants) }, { signal });
        if (!signal.aborted) setStage({ kind: 'shown', page, frame });
      } catch (failure) {
        if (!signal.aborted) setStage({ kind: 'failed', failure });
      }
    };
    void load();
    return () => controller.abort();
    // oxlint-disable-next-line exhaustive-deps -- the view is for one result
  }, [uri, grants, attempt]);

  const again = (): void => setAttempt((count) => count + 1);
  return (
    <section className="foreign app" aria-label={`App from ${workload}`}>
      <span className="from">App from {workload}, not a part of ToolHive</span>
      <p className="quiet">
        The result <a href="#plain-result">as text</a> is below the app.
      </p>
      {stage.kind === 'loading' && <Skeleton what="the app" />}
      {stage.kind === 'failed' && (
        <Failure failure={failureOf(stage.failure)} title="The app cannot be shown" onRetry={again} />
      )}
      {stage.kind === 'stopped' && (
        <Notice>
          <p>{stage.reason}</p>
          <button type="button" onClick={again}>
            Show the app again
          </button>
        </Notice>
      )}
      {stage.kind === 'shown' && (
        <>
          <AppFrame
            {...{ workload, tool, tools, args, result, grants, send }}
            html={stage.page.html}
            frame={stage.frame}
            onText={(kind, text) => setTexts((list) => [...list, { kind, text }].slice(-maxTexts))}
            onStop={(reason) => setStage({ kind: 'stopped', reason })}
          />
          <AskedAccess asked={stage.page.asked} grants={grants} onGrant={setGrants} />
        </>
      )}
      {texts.length > 0 && (
        <ul className="plain" aria-label="Texts of the app">
          {texts.map(({ kind, text }, index) => (
            <li key={index}>
              {kind === 'message' ? 'Message' : 'Log'}: <ForeignText>{text}</ForeignText>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function copied({ connect_hosts, resource_hosts }: Grants): {
  connect_hosts: string[];
  resource_hosts: string[];
} {
  return { connect_hosts: [...connect_hosts], resource_hosts: [...resource_hosts] };
}
