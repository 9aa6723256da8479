import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Dialog } from '../../ui/dialog.tsx';
import { ForeignText } from '../../ui/text.tsx';
import type { Question } from './app-host.ts';

/** An app chooses the moment of a dialog, so a click or a key that was meant for the app must not answer it. */
const readyMs = 700;

/** Asks whether an app may do one thing. Closing the dialog denies it. */
export function AppDialog({
  workload,
  question,
  onAnswer,
  onStop,
}: {
  workload: string;
  question: Question;
  onAnswer: (isAllowed: boolean) => void;
  onStop: () => void;
}): ReactNode {
  const [isReady, setReady] = useState(false);
  const deny = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    setReady(false);
    deny.current?.focus();
    const timer = setTimeout(() => setReady(true), readyMs);
    return () => clearTimeout(timer);
  }, [question]);
  const { action, details } = descriptionOf(question);
  return (
    <Dialog title={`The app from ${workload} wants to ${action}`} onClose={() => onAnswer(false)}>
      <div className="foreign">
        <span className="from">From the app</span>
        {details}
      </div>
      <p className="quiet">{consequences[question.kind]} Your answer is for this one action.</p>
      <div className="buttons">
        <button type="button" ref={deny} onClick={() => onAnswer(false)}>
          Deny
        </button>
        <button type="button" className="primary" disabled={!isReady} onClick={() => onAnswer(true)}>
          Allow once
        </button>
        <button type="button" className="dangerous" onClick={onStop}>
          Stop the app
        </button>
      </div>
    </Dialog>
  );
}

const consequences = {
  tool: 'The server carries out the call.',
  prompt: 'The app receives the prompt of the server.',
  resource: 'The app receives the content of the resource.',
  list: 'The app receives the list of the server.',
  link: 'The page opens in a new tab, and its owner learns the complete address.',
  message: 'The tool tester has no conversation, so the message appears below the app.',
} as const;

function descriptionOf(question: Question): { action: string; details: ReactNode } {
  const code = (text: string): ReactNode => (
    <code>
      <ForeignText>{text}</ForeignText>
    </code>
  );
  switch (question.kind) {
    case 'tool': {
      const { name, original, args } = question;
      const details = (
        <>
          <p>
            Tool {code(name)}
            {original !== name && <> (the server calls it {code(original)})</>}
          </p>
          <Json value={args} />
        </>
      );
      return { action: 'call a tool', details };
    }
    case 'prompt':
      return {
        action: 'get a prompt',
        details: (
          <>
            <p>Prompt {code(question.name)}</p>
            <Json value={question.args} />
          </>
        ),
      };
    case 'resource':
      return { action: 'read a resource', details: <p>Resource {code(question.uri)}</p> };
    case 'list':
      return { action: 'read a list of the server', details: <p>Method {code(question.method)}</p> };
    case 'link':
      return { action: 'open a web page', details: <p>{code(question.url)}</p> };
    case 'message':
      return {
        action: 'write a message in your name',
        details: (
          <pre>
            <ForeignText>{question.text}</ForeignText>
          </pre>
        ),
      };
  }
}

function Json({ value }: { value: unknown }): ReactNode {
  return (
    <pre>
      <code>
        <ForeignText>{JSON.stringify(value, null, 2)}</ForeignText>
      </code>
    </pre>
  );
}
