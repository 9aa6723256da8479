import { useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { client } from '../api/client.ts';
import { secrets } from '../api/resources.ts';
import { refresh } from '../api/store.ts';
import { Action } from './action.tsx';
import { TextField } from './fields.tsx';
import { attempt } from './toasts.ts';
import { SharedTurn, useTurn } from './turn.ts';

/**
 * Sets up or unlocks the encrypted secrets. This is not a form, so that it can be within the form that
 * needs a secret.
 */
export function SecretStore({
  isLocked,
}: {
  /** The file exists, and only its password is missing. */
  isLocked: boolean;
}): ReactNode {
  const [password, setPassword] = useState('');
  const turn = useTurn();
  const open = async (): Promise<void> => {
    await attempt(isLocked ? 'Cannot unlock the secrets' : 'Cannot set up secrets', () =>
      client.setupSecrets({
        body: { provider_type: 'encrypted', ...(password === '' ? {} : { password }) },
      }),
    );
    refresh(secrets.key);
  };
  return (
    <SharedTurn value={turn}>
      <div
        onKeyDown={(event: KeyboardEvent) => {
          if (event.key !== 'Enter' || (event.target as HTMLElement).tagName !== 'INPUT') return;
          event.preventDefault();
          turn.run('password', open);
        }}
      >
        <TextField
          type="password"
          value={password}
          onChange={setPassword}
          label={isLocked ? 'Password' : 'Password, only without a keyring'}
        />
        <Action className="primary" onClick={open}>
          {isLocked ? 'Unlock' : 'Set up secrets'}
        </Action>
      </div>
    </SharedTurn>
  );
}
