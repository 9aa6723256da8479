import { useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { maxImportText } from '@toolhive/contract/import-text';
import type { ImportPreview } from '@toolhive/contract/preview';
import type { ThvError } from '@toolhive/contract/failure';
import { Link, useLocation } from 'wouter';
import { client } from '../../api/client.ts';
import { failureOf } from '../../api/store.ts';
import { Fixes } from '../../ui/fixes.tsx';
import { Action } from '../../ui/action.tsx';
import { count, inScreenWords, sentence } from '../../ui/format.ts';
import { Launch, useAttempts } from '../../ui/launch.tsx';
import { Failure } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { answeredDraft, draftOfRequest } from '../../ui/workload-draft.ts';
import type { Draft } from '../../ui/workload-draft.ts';
import { WorkloadForm } from '../../ui/workload-form.tsx';
import { AreaField, Form, TextField } from '../../ui/fields.tsx';

type Imported = ImportPreview['servers'][number];

const example = '{ "mcpServers": { "time": { "command": "uvx", "args": ["mcp-server-time"] } } }';

/** Converts a client configuration, or commands, to workloads. */
export function Paste(): ReactNode {
  const [text, setText] = useState('');
  const [servers, setServers] = useState<readonly Imported[] | undefined>();
  const [failure, setFailure] = useState<ThvError | undefined>();
  /** The length of a text that was too long, which the field does not take: a browser shows such texts slowly. */
  const [excess, setExcess] = useState<number | undefined>();
  const accept = (next: string): void => {
    const isTooLong = next.length > maxImportText;
    setExcess(isTooLong ? next.length : undefined);
    if (!isTooLong) setText(next);
  };
  const preview = async (): Promise<void> => {
    setFailure(undefined);
    setServers(undefined);
    setExcess(undefined);
    try {
      setServers((await client.previewImport({ body: { document: text } })).servers);
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
  };
  return (
    <>
      <Form onSubmit={preview}>
        <AreaField
          label="Configuration or command"
          hint="What the README shows: a block with mcpServers, a command such as npx -y PACKAGE, or a URL. Nothing runs yet."
          className="json"
          isRequired
          placeholder={example}
          problem={excess === undefined ? undefined : tooLong(excess)}
          value={text}
          onChange={accept}
          onPaste={(event) => {
            const pasted = event.clipboardData.getData('text/plain');
            if (pasted.length <= maxImportText) return;
            event.preventDefault();
            setExcess(pasted.length);
          }}
        />
        <Action type="submit" className="primary">
          Continue
        </Action>
      </Form>
      {failure !== undefined && <Failure failure={failure} title="Cannot read the text" />}
      <p className="quiet results" role="status">
        {servers !== undefined && found(servers)}
      </p>
      {servers?.map((server) => (
        <ImportedServer key={server.name} server={server} />
      ))}
    </>
  );
}

function tooLong(length: number): string {
  const [has, limit] = [length, maxImportText].map((amount) => amount.toLocaleString('en'));
  return `The text has ${has} characters, and the limit is ${limit}. Use only the part with the servers.`;
}

function found(servers: readonly Imported[]): string {
  const failed = servers.filter(({ problem }) => problem !== undefined).length;
  if (servers.length === 0) return 'The text contains no server.';
  if (failed === 0) return `The text contains ${count(servers.length, 'server')}.`;
  return `The text contains ${count(servers.length, 'server')}, ${failed} of which cannot run as written.`;
}

function ImportedServer({
  server: { name, request, notes, needs, problem, hint },
}: {
  server: Imported;
}): ReactNode {
  const id = useId();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<Draft | undefined>(
    () => request && draftOfRequest(request, name, needs),
  );
  // The form asks for the variables.
  const questions = needs.filter(({ kind }) => kind !== 'variable');
  const [answers, setAnswers] = useState<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const attempts = useAttempts();
  const [created, setCreated] = useState<string | undefined>();
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>
        <ForeignText>{name}</ForeignText>
      </h2>
      {problem !== undefined && (
        <div className="problem">
          <ForeignText>{sentence(inScreenWords(problem))}</ForeignText>
          <Fixes hint={hint} />
        </div>
      )}
      {notes.length > 0 && (
        <ul className="plain">
          {notes.map((note) => (
            <li key={note}>
              <ForeignText>{sentence(inScreenWords(note))}</ForeignText>
            </li>
          ))}
        </ul>
      )}
      {created !== undefined && (
        <p className="good">
          ✓ <Link href={`/w/${encodeURIComponent(created)}`}>{created}</Link> is running
        </p>
      )}
      {draft !== undefined && created === undefined && (
        <Form ref={form} failure={attempts.failure}>
          {questions.map(({ kind, name: question, description, secret }) => (
            <TextField
              key={question}
              label={question}
              hint={description === '' ? undefined : description}
              pointer={kind === 'header' ? '/headers' : undefined}
              type={secret ? 'password' : 'text'}
              value={answers[question] ?? ''}
              isRequired
              onChange={(answer) => setAnswers({ ...answers, [question]: answer })}
            />
          ))}
          <WorkloadForm draft={draft} onChange={setDraft} source={draft.url === '' ? 'package' : 'remote'} />
          <Launch
            draft={answeredDraft(draft, questions, answers)}
            attempts={attempts}
            isValid={() => form.current?.reportValidity() === true}
            onDone={(workload) => {
              setCreated(workload);
              if (document.querySelectorAll('section.card').length === 1)
                navigate(`/w/${encodeURIComponent(workload)}`);
            }}
          />
        </Form>
      )}
    </section>
  );
}
