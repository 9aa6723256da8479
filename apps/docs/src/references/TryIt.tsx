import { document } from './document.ts';
import { useEffect, useId, useRef, useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { callsOf, exampleBody } from '../plugins/references/open-api.ts';
import type { Call } from '../plugins/references/open-api.ts';
import { Prose } from './prose.tsx';
import { requestOf } from './request.ts';

const asking = 'Asking…';

/** Sends a request to a daemon that the reader chooses, and shows the response. Sends nothing before that. */
export function TryIt({ operationId, onClose }: { operationId: string; onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [answer, setAnswer] = useState('');
  const call = callsOf(document).find(({ operation }) => operation.operationId === operationId);

  useEffect(() => dialog.current?.showModal(), []);
  if (call === undefined) return null;

  const send = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (answer === asking) return;
    setAnswer(asking);
    setAnswer(await ask(call, new FormData(event.currentTarget)));
  };
  return (
    <dialog ref={dialog} className="api-try" aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{call.operation.summary}</h2>
      <p className="api-path">
        <span className={`api-method api-method--${call.method.toLowerCase()}`}>{call.method}</span>{' '}
        <code>{call.path}</code>
      </p>
      <form onSubmit={(event) => void send(event)}>
        <Inputs call={call} />
        {call.method !== 'GET' && <p>This changes something there, for real.</p>}
        <div className="api-buttons">
          {/* A disabled button would lose the focus. */}
          <button type="submit" className="api-button" aria-disabled={answer === asking}>
            Send
          </button>
          <button type="button" className="api-button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </form>
      <pre className="api-answer" role="status" tabIndex={0} aria-label="Answer">
        {answer}
      </pre>
    </dialog>
  );
}

function Inputs({ call }: { call: Call }): ReactNode {
  const body = exampleBody(document, call);
  return (
    <>
      <Input
        name="server"
        label="Address of your daemon"
        type="url"
        placeholder={document.servers[0]?.url}
        required
      >
        A browser allows this page to send requests only to the daemon that serves it, in this case{' '}
        <code>{window.location.origin}</code>.
      </Input>
      <Input name="token" label="Token, if it asks for one" type="password" />
      {call.operation.parameters.map(({ name, required, description }) => (
        <Input key={name} name={`parameter:${name}`} label={name} required={required}>
          {description !== undefined && <Prose>{description}</Prose>}
        </Input>
      ))}
      {body !== undefined && (
        <label>
          <span>Body</span>
          <textarea name="body" rows={10} spellCheck={false} defaultValue={JSON.stringify(body, null, 2)} />
        </label>
      )}
    </>
  );
}

interface InputProps {
  name: string;
  label: string;
  type?: string;
  placeholder?: string | undefined;
  required?: boolean;
  children?: ReactNode;
}

function Input({ label, children, type = 'text', ...own }: InputProps): ReactNode {
  return (
    <label>
      <span>{label}</span>
      <input type={type} autoComplete="off" {...own} />
      {children !== undefined && <small>{children}</small>}
    </label>
  );
}

/** The maximum length of a shown response, because streams do not end. */
const longestAnswer = 20_000;

/** The maximum duration of a response or stream. */
const longestWaitMs = 15_000;

async function ask(call: Call, form: FormData): Promise<string> {
  const request = requestOf(call, form);
  if (typeof request === 'string') return request;
  const { url, ...options } = request;
  const signal = AbortSignal.timeout(longestWaitMs);
  let text = '';
  try {
    const response = await fetch(url, { ...options, signal });
    text = `${response.status} ${response.statusText}\n\n`;
    for await (const piece of textOf(response)) {
      text += piece;
      if (text.length > longestAnswer) return `${text.slice(0, longestAnswer)}\n… and more`;
    }
    return text;
  } catch {
    if (signal.aborted) return `${text}\n… and nothing more after ${longestWaitMs / 1000} seconds`;
    // Browsers hide the reason from pages.
    return text === ''
      ? `No response from ${url.origin}. Either no program listens there, or your browser blocks the request, because this page can use only the daemon that serves it.`
      : `${text}\n… and then the connection broke off`;
  }
}

/** The text of a response in pieces. Callers end the connection when they have enough. */
async function* textOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done = true, value = '' } = (await reader?.read()) ?? {};
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel();
  }
}
