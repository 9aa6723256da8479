import { Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import type { ListedPrompt, ListedSkill, ListedTool } from '@toolhive/contract/capabilities';
import { asObject, asText, callMcp, mirroredHeaders, requestHeaders, withMeta } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';
import { workloads } from '../../api/resources.ts';
import { failureOf, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { initialValue } from '../../ui/schema.ts';
import { JsonField, SchemaForm, isWithoutMembers } from '../../ui/schema-form.tsx';
import { Skeleton } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { useValidation } from '../../ui/validate.ts';
import type { Problems } from '../../ui/validate.ts';
import { missing } from '../../ui/missing.ts';
import { history, recordCall, subscribeToHistory } from './history.ts';
import { useQuestions } from './questions.ts';
import { TextField } from '../../ui/fields.tsx';
import { lazily } from '../../ui/unloaded.tsx';
import { CallFailure } from './call-failure.tsx';
import { CallHistory } from './call-history.tsx';

export type Item =
  | { kind: 'tool'; key: string; label: string; tool: ListedTool }
  | { kind: 'prompt'; key: string; label: string; prompt: ListedPrompt }
  | {
      kind: 'resource';
      key: string;
      label: string;
      uri: string;
      description: string | undefined;
      mimeType: string | undefined;
      isTemplate: boolean;
      /** The skill, if this is the file that describes one. */
      skill?: ListedSkill;
    };

interface Running {
  controller: AbortController;
  progress: { progress: number; total?: number | undefined; message?: string | undefined } | undefined;
  logs: readonly string[];
}

type Outcome =
  { result: Values; ms: number; args: unknown; started: number } | { failure: unknown; ms: number };

// This code is loaded when a server has answered: with a result, an app, or a question. Without the daemon, it cannot be.
const Result = lazily(() => import('./result.tsx'));
const AppView = lazily(() => import('../app/app-view.tsx'));
const InputDialog = lazily(() => import('./input-dialog.tsx'));

/** Calls a tool, gets a prompt, or reads a resource with arguments from a form. */
export function Tester({
  workload,
  item,
  tools,
}: {
  workload: string;
  item: Item;
  /** All tools that the workload has, which the app of a tool may call. */
  tools: readonly ListedTool[];
}): ReactNode {
  const schema = schemaOf(item);
  const [value, setValue] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  const [running, setRunning] = useState<Running | undefined>();
  const { asked, ask } = useQuestions();
  const [outcome, setOutcome] = useState<Outcome | undefined>();
  const [authorization, setAuthorization] = useState('');
  // A field is only missing once its user has left it empty, or has called the tool without it.
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isCalled, setCalled] = useState(false);
  const validation = useValidation(schema, value);
  const calls = useSyncExternalStore(subscribeToHistory, () => history(workload, item.key));
  const region = useRef<HTMLDivElement>(null);
  const { data: list } = useResource(workloads);
  const url = list?.find(({ name }) => name === workload)?.url;

  const target = { workload, ...(authorization === '' ? {} : { authorization: `Bearer ${authorization}` }) };

  const leaving = useLeaving();
  const current = useRef<AbortController>(undefined);

  const call = async (args: unknown): Promise<void> => {
    if (current.current !== undefined) return; // one call at a time, whose state is shown
    const controller = (current.current = new AbortController());
    const signal = AbortSignal.any([controller.signal, leaving()]);
    const started = performance.now();
    const { method, params } = requestOf(item, args);
    setOutcome(undefined);
    setRunning({ controller, progress: undefined, logs: [] });
    let ended: Outcome;
    try {
      const result = await callMcp(
        target,
        {
          method,
          params,
          mirrored: item.kind === 'tool' ? mirroredHeaders(item.tool.input_schema, args) : {},
        },
        {
          signal,
          onProgress: (progress) => setRunning((current) => current && { ...current, progress }),
          onLog: (level, data) =>
            setRunning(
              (current) =>
                current && {
                  ...current,
                  logs: [
                    ...current.logs.slice(-99),
                    `${level}: ${typeof data === 'string' ? data : JSON.stringify(data)}`,
                  ],
                },
            ),
          onInput: (requests) => ask(requests, signal, () => controller.abort()),
        },
      );
      ended = { result, args, started, ms: performance.now() - started };
    } catch (failure) {
      ended = { failure, ms: performance.now() - started };
    }
    current.current = undefined;
    setRunning(undefined);
    setOutcome(ended);
    recordCall(workload, item.key, {
      at: Date.now(),
      args,
      isOk: 'result' in ended && ended.result['isError'] !== true,
      ms: ended.ms,
    });
    // A user who has begun to write something else in the meantime stays there.
    if (document.activeElement?.matches('input, select, textarea') !== true) region.current?.focus();
  };

  /** A request of an app, which the user has allowed. */
  const sendForApp = (method: string, params: Values, ended: AbortSignal): Promise<Values> => {
    const controller = new AbortController();
    const signal = AbortSignal.any([ended, controller.signal, leaving()]);
    const called = method === 'tools/call' ? tools.find(({ name }) => name === params['name']) : undefined;
    const mirrored = mirroredHeaders(called?.input_schema, params['arguments']);
    return callMcp(
      target,
      { method, params, mirrored },
      {
        signal,
        onProgress: () => {},
        onLog: () => {},
        onInput: (requests) => ask(requests, signal, () => controller.abort()),
      },
    );
  };

  const app = appOf(item);
  const hasNoArguments = isWithoutMembers(schema);
  const shownProblems = isCalled
    ? validation.problems
    : Object.fromEntries(
        Object.entries(validation.problems).filter(
          ([pointer, problem]) => problem !== missing || left.has(pointer),
        ),
      );
  const problemCount = Object.keys(shownProblems).length;
  const json = (
    <JsonField
      label="JSON"
      value={value}
      onChange={(next) => setValue(next ?? {})}
      pointer="#"
      problems={{}}
      isRequired={false}
    />
  );
  return (
    <section aria-labelledby="tester">
      <h3 id="tester">Try it</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setCalled(true);
          void call(value);
        }}
        onBlur={({ target, relatedTarget: next }) => {
          const { pointer } = target.dataset;
          // A new line below the field would move a button away from the pointer that presses it.
          if (next?.matches('input, select, textarea') !== true) return;
          if (pointer !== undefined && !left.has(pointer)) setLeft(new Set([...left, pointer]));
        }}
      >
        {hasNoArguments ? (
          <details>
            <summary>No arguments</summary>
            {json}
          </details>
        ) : (
          <div className="tester-columns">
            <div>
              <SchemaForm schema={schema} value={value} onChange={setValue} problems={shownProblems} />
            </div>
            <div>
              {json}
              <ProblemList problems={shownProblems} />
              {!validation.isChecked && (
                <p className="quiet">The schema of the server could not be checked.</p>
              )}
            </div>
          </div>
        )}
        <div className="buttons">
          <Action type="submit" className="primary" disabled={running !== undefined}>
            {{ tool: 'Call tool', prompt: 'Get prompt', resource: 'Read resource' }[item.kind]}
          </Action>
          {running !== undefined && (
            <button type="button" onClick={() => running.controller.abort()}>
              Cancel
            </button>
          )}
          {problemCount > 0 && (
            <span className="quiet">You can send arguments that do not match the schema.</span>
          )}
          <CopyButton label="Copy as thv" what={`to use ${item.label}`} text={asThv(workload, item, value)} />
          {url !== undefined && url !== '' && (
            <CopyButton label="Copy as curl" what={`to use ${item.label}`} text={asCurl(url, item, value)} />
          )}
        </div>
      </form>
      {outcome !== undefined && 'result' in outcome && app !== undefined && (
        <Suspense fallback={<Skeleton what="the app" />}>
          <AppView
            key={outcome.started}
            workload={workload}
            {...app}
            tools={tools}
            args={asObject(outcome.args)}
            result={outcome.result}
            send={sendForApp}
          />
        </Suspense>
      )}
      <div id="plain-result" ref={region} tabIndex={-1} aria-live="polite" aria-label="Result" role="region">
        {running !== undefined && <Progress running={running} />}
        {outcome !== undefined && 'result' in outcome && (
          <Suspense>
            <Result
              workload={workload}
              result={outcome.result}
              ms={outcome.ms}
              outputSchema={item.kind === 'tool' ? item.tool.output_schema : undefined}
            />
          </Suspense>
        )}
        {outcome !== undefined && 'failure' in outcome && (
          <CallFailure failure={outcome.failure} ms={outcome.ms} />
        )}
      </div>
      {outcome !== undefined &&
        'failure' in outcome &&
        failureOf(outcome.failure).kind === 'unauthorized' && (
          <TextField
            label="Access token for this server"
            hint="The server authenticates its callers. The token stays in this page and is sent with each call."
            type="password"
            value={authorization}
            onChange={setAuthorization}
          />
        )}
      {calls.length > 0 && (
        <CallHistory
          calls={calls}
          isBusy={running !== undefined}
          onReplay={(args) => {
            setValue(args);
            void call(args);
          }}
          onLoad={setValue}
        />
      )}
      {asked !== undefined && (
        <Suspense>
          <InputDialog key={asked.id} workload={workload} {...asked} />
        </Suspense>
      )}
    </section>
  );
}

/** Returns a signal that aborts when the user leaves: the component, or the page. */
function useLeaving(): () => AbortSignal {
  const left = useRef(new AbortController());
  useEffect(() => {
    const leave = (): void => {
      left.current.abort();
      left.current = new AbortController(); // the browser may show the page again
    };
    window.addEventListener('pagehide', leave);
    return () => {
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, []);
  return () => left.current.signal;
}

function ProblemList({ problems }: { problems: Problems }): ReactNode {
  const all = Object.entries(problems);
  if (all.length === 0) return null;
  return (
    <ul className="problem" aria-label="Problems">
      {all.slice(0, 10).map(([pointer, problem]) => (
        <li key={pointer}>
          <code>
            <ForeignText>{pointer === '' ? '/' : pointer}</ForeignText>
          </code>{' '}
          <ForeignText>{problem}</ForeignText>
        </li>
      ))}
    </ul>
  );
}

/** The tool and the page of its app, if it has one. */
function appOf(item: Item): { tool: ListedTool; uri: string } | undefined {
  const uri = item.kind === 'tool' ? item.tool.app?.resource_uri : undefined;
  return item.kind === 'tool' && uri !== undefined ? { tool: item.tool, uri } : undefined;
}

function schemaOf(item: Item): Values {
  if (item.kind === 'tool') return asObject(item.tool.input_schema);
  if (item.kind === 'prompt') {
    const parts = item.prompt.arguments ?? [];
    return {
      type: 'object',
      properties: Object.fromEntries(
        parts.map(({ name, description, title }) => [name, { type: 'string', description, title }]),
      ),
      required: parts.filter((part) => part['required'] === true).map(({ name }) => name),
    };
  }
  if (!item.isTemplate) return { type: 'object', properties: {} };
  const variables = [...item.uri.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap(([, names = '']) =>
    names.split(','),
  );
  return {
    type: 'object',
    properties: Object.fromEntries(
      variables.map((name) => [name.replace(/[*:].*$/, ''), { type: 'string' }]),
    ),
  };
}

function requestOf(item: Item, args: unknown): { method: string; params: Values } {
  const values = asObject(args);
  switch (item.kind) {
    case 'tool':
      return { method: 'tools/call', params: { name: item.tool.name, arguments: values } };
    case 'prompt':
      return { method: 'prompts/get', params: { name: item.prompt.name, arguments: values } };
    case 'resource':
      return {
        method: 'resources/read',
        params: { uri: item.isTemplate ? expanded(item.uri, values) : item.uri },
      };
  }
}

/** Expands a URI template (RFC 6570, levels 1 to 3), as resource templates use it. */
function expanded(template: string, values: Values): string {
  return template.replace(/\{([+#./;?&]?)([^}]*)\}/g, (_all, operator: string, names: string) => {
    const given = names
      .split(',')
      .map((name) => name.replace(/[*:].*$/, ''))
      .flatMap((name) => (values[name] === undefined ? [] : [[name, asText(values[name])] as const]));
    if (given.length === 0) return '';
    const isReserved = operator === '+' || operator === '#';
    const encode = (text: string): string => (isReserved ? encodeURI(text) : encodeURIComponent(text));
    const isNamed = [';', '?', '&'].includes(operator);
    const separator =
      { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' }[operator] ?? ',';
    const start = operator === '+' ? '' : operator;
    return (
      start +
      given.map(([name, text]) => (isNamed ? `${name}=${encode(text)}` : encode(text))).join(separator)
    );
  });
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function asThv(workload: string, item: Item, args: unknown): string {
  return item.kind === 'tool'
    ? `thv mcp call ${quoted(workload)} ${quoted(item.tool.name)} --input ${quoted(JSON.stringify(args))}`
    : `thv mcp list ${item.kind}s --server ${quoted(workload)}`;
}

function asCurl(url: string, item: Item, args: unknown): string {
  const { method, params } = requestOf(item, args);
  const mirrored = item.kind === 'tool' ? mirroredHeaders(item.tool.input_schema, args) : {};
  const headers = Object.entries({ ...requestHeaders(method, params), ...mirrored });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: withMeta(params, 1) });
  const endpoint = new URL('/mcp', url).href;
  return [
    `curl ${quoted(endpoint)}`,
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-d ${quoted(body)}`,
  ].join(' \\\n  ');
}

function Progress({ running: { progress, logs } }: { running: Running }): ReactNode {
  return (
    <div className="notice">
      <p>
        Waiting for the server.{' '}
        {progress?.message !== undefined && <ForeignText>{progress.message}</ForeignText>}
      </p>
      {progress === undefined ? (
        <progress aria-label="Progress of the call" />
      ) : (
        <progress aria-label="Progress of the call" value={progress.progress} max={progress.total} />
      )}
      {logs.length > 0 && (
        <pre>
          <ForeignText>{logs.join('\n')}</ForeignText>
        </pre>
      )}
    </div>
  );
}
