import { useState } from 'react';
import type { ReactNode } from 'react';
import type { InputRequest, Values } from '../../api/mcp.ts';
import { asObject, asText } from '../../api/mcp.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count } from '../../ui/format.ts';
import { asJson } from '../../ui/json.ts';
import { initialValue } from '../../ui/schema.ts';
import { SchemaForm } from '../../ui/schema-form.tsx';
import { ForeignLink, ForeignText } from '../../ui/text.tsx';
import { useValidation } from '../../ui/validate.ts';
import { AreaField } from '../../ui/fields.tsx';
import { Blocks } from './content.tsx';

/** Asks the user for the input that a server requests during a call. Closing the dialog cancels the call. */
export default function InputDialog({
  workload,
  requests,
  answer,
}: {
  workload: string;
  requests: readonly InputRequest[];
  answer: (responses: Values | undefined) => void;
}): ReactNode {
  const [responses, setResponses] = useState<Values>({});
  // The server chooses the keys, also one like `constructor`.
  const open = requests.find(({ key, method }) => !Object.hasOwn(responses, key) && method !== 'roots/list');
  const respond = (key: string, response: unknown): void => {
    const next = { ...responses, [key]: response };
    const isComplete = requests.every(
      (request) => Object.hasOwn(next, request.key) || request.method === 'roots/list',
    );
    if (isComplete) answer({ ...rootsFor(requests), ...next });
    else setResponses(next);
  };
  if (open === undefined) {
    // The server only asks for the directories of the client, of which a web page has none.
    queueMicrotask(() => answer(rootsFor(requests)));
    return null;
  }
  return (
    <Dialog title={`${workload} asks for input`} onClose={() => answer(undefined)}>
      {open.method === 'elicitation/create' ? (
        <Elicitation
          key={open.key}
          params={open.params}
          onAnswer={(response) => respond(open.key, response)}
        />
      ) : open.method === 'sampling/createMessage' ? (
        <Sampling key={open.key} params={open.params} onAnswer={(response) => respond(open.key, response)} />
      ) : (
        <p>
          The server sent the request <code>{open.method}</code>, which this page does not support.
        </p>
      )}
      <div className="buttons">
        <button type="button" onClick={() => answer(undefined)}>
          Cancel the call
        </button>
      </div>
    </Dialog>
  );
}

function rootsFor(requests: readonly InputRequest[]): Values {
  const asked = requests.filter(({ method }) => method === 'roots/list');
  return Object.fromEntries(asked.map(({ key }) => [key, { roots: [] }]));
}

/** A question of the server (MCP, Elicitation). */
function Elicitation({
  params,
  onAnswer,
}: {
  params: Values;
  onAnswer: (response: Values) => void;
}): ReactNode {
  const schema = asObject(params['requestedSchema']);
  const [value, setValue] = useState<unknown>(() => initialValue(schema, schema) ?? {});
  const { problems } = useValidation(schema, value);
  const url = params['url'];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(typeof url === 'string' ? { action: 'accept' } : { action: 'accept', content: value });
      }}
    >
      <div className="foreign foreign-text">
        <span className="from">Message of the server</span>
        <ForeignText>{asText(params['message'])}</ForeignText>
      </div>
      <p className="quiet">The server receives what you enter. Never enter a password or a key here.</p>
      {typeof url === 'string' ? (
        <p>
          The server asks you to open this page: <ForeignLink url={url} />
        </p>
      ) : (
        <SchemaForm schema={schema} value={value} onChange={setValue} problems={problems} />
      )}
      <div className="buttons">
        <button type="submit" className="primary" disabled={Object.keys(problems).length > 0}>
          {typeof url === 'string' ? 'I opened the page' : 'Send'}
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'decline' })}>
          Decline
        </button>
      </div>
    </form>
  );
}

/** A request for text of a model, which the user writes here (MCP, Sampling). */
function Sampling({ params, onAnswer }: { params: Values; onAnswer: (response: Values) => void }): ReactNode {
  const [text, setText] = useState('');
  const { messages, maxTokens } = params;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({
          role: 'assistant',
          model: 'user',
          stopReason: 'endTurn',
          content: { type: 'text', text },
        });
      }}
    >
      <p>
        The server asks your model to continue this conversation. This page has no model, so you write the
        answer. The server receives it.
      </p>
      <Wishes params={params} />
      <div className="foreign">
        <span className="from">Messages of the server</span>
        <Messages messages={messages} />
      </div>
      <AreaField
        label="Answer"
        hint={typeof maxTokens === 'number' ? `At most ${count(maxTokens, 'token')}` : undefined}
        isRequired
        value={text}
        onChange={setText}
      />
      <button type="submit" className="primary">
        Send
      </button>
    </form>
  );
}

function Messages({ messages }: { messages: unknown }): ReactNode {
  if (!Array.isArray(messages) || messages.length === 0) return <p className="quiet">No messages</p>;
  return <Blocks content={messages} />;
}

/** The parts of a request for sampling that get their own line, in this order. */
const wishes: Readonly<Record<string, string>> = {
  systemPrompt: 'System prompt',
  modelPreferences: 'Model',
  maxTokens: 'Most tokens',
  temperature: 'Temperature',
  stopSequences: 'Stop at',
  includeContext: 'Context',
  tools: 'Tools',
  toolChoice: 'Use of tools',
};

/** Everything that the server asks for beside the messages. */
function Wishes({ params }: { params: Values }): ReactNode {
  const { messages: _messages, _meta, ...asked } = params;
  const names = [...new Set([...Object.keys(wishes), ...Object.keys(asked)])].filter(
    (name) => asked[name] !== undefined && asked[name] !== null,
  );
  if (names.length === 0) return null;
  return (
    <div className="foreign">
      <span className="from">Request of the server</span>
      <dl className="pairs">
        {names.map((name) => (
          <div key={name}>
            <dt>{Object.hasOwn(wishes, name) ? wishes[name] : <ForeignText>{name}</ForeignText>}</dt>
            <dd className="foreign-text">
              <ForeignText>
                {name === 'modelPreferences' ? modelOf(asObject(asked[name])) : readable(asked[name])}
              </ForeignText>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** The wanted models by name, and the importance of each property from 0 to 1. */
function modelOf({ hints, ...priorities }: Values): string {
  const names = (Array.isArray(hints) ? hints : []).map((hint) => asText(asObject(hint)['name']));
  const words = { costPriority: 'low cost', speedPriority: 'speed', intelligencePriority: 'intelligence' };
  const found = Object.entries(priorities).map(
    ([name, value]) => `${name in words ? words[name as keyof typeof words] : name}: ${asText(value)}`,
  );
  return [...names, ...found].join(', ');
}

/** Text and numbers as they are, lists of texts with quotation marks, and everything else as JSON. */
function readable(value: unknown): string {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.map((each) => JSON.stringify(each)).join(', ');
  return typeof value === 'object' ? asJson(value) : asText(value);
}
