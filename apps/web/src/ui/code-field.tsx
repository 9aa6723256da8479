import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { codeIn, onSignInElsewhere, signInWith } from '../api/sign-in.ts';
import { CopyButton } from './copy.tsx';
import { Form, TextField } from './fields.tsx';
import { attempt } from './toasts.ts';

/** Signs in with a code from a terminal, for example over SSH. A page that was left open continues by itself. */
export function CodeField(): ReactNode {
  const [text, setText] = useState('');
  useEffect(() => onSignInElsewhere(() => location.reload()), []);
  const code = codeIn(text);
  const submit = async (): Promise<void> => {
    if (code === undefined) return;
    if (await attempt('Cannot sign in', () => signInWith(code))) location.reload();
  };
  return (
    <Form className="inline-form" onSubmit={submit}>
      <CopyButton text="thv ui" label="Copy the command" what="thv ui" />
      <TextField label="Code, or the whole address" value={text} onChange={setText} />
      <button type="submit" className="primary" disabled={code === undefined}>
        Sign in
      </button>
    </Form>
  );
}
