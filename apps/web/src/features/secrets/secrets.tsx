import { useCallback, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { SecretsProvider } from '@toolhive/contract/secrets';
import { client } from '../../api/client.ts';
import { secretUses, secrets } from '../../api/resources.ts';
import { refresh, useEvents, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { SecretStore } from '../../ui/secret-store.tsx';
import { Empty, NotLoaded, Notice, Skeleton } from '../../ui/states.tsx';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { attempt, toast, withUndo } from '../../ui/toasts.ts';
import { Form, TextField } from '../../ui/fields.tsx';

/** The stored secrets. Their values can be replaced and removed, but never read. */
export function Secrets(): ReactNode {
  const { data, error } = useResource(secrets);
  return (
    <Page title="Secrets" help="/toolhive/guides-ui/secrets-management">
      <p>Servers receive secrets as environment variables. ToolHive never shows a stored value.</p>
      {data === undefined &&
        (error === undefined ? (
          <Skeleton what="the secrets" />
        ) : error.kind === 'not-found' ? (
          <SetUp />
        ) : (
          <NotLoaded failure={error} title="Cannot load the secrets" onRetry={() => refresh(secrets.key)} />
        ))}
      {data !== undefined &&
        (data.provider.locked ? (
          <Unlock />
        ) : (
          <Stored provider={data.provider} keys={data.keys.map(({ key }) => key)} />
        ))}
    </Page>
  );
}

const providers = {
  encrypted: 'an encrypted file',
  '1password': '1Password',
  environment: "the daemon's environment variables",
  none: 'nowhere',
} as const;

function SetUp(): ReactNode {
  return (
    <Empty title="Secrets are not set up" action={<SecretStore isLocked={false} />}>
      ToolHive stores secrets in an encrypted file. Its key is in the keyring of your system. Without a
      keyring, you need a password.
    </Empty>
  );
}

function Unlock(): ReactNode {
  return (
    <>
      <Notice kind="warning">The encrypted file is locked. Servers that need a secret do not start.</Notice>
      <SecretStore isLocked />
    </>
  );
}

function Stored({ provider, keys }: { provider: SecretsProvider; keys: readonly string[] }): ReactNode {
  const { data: uses = new Map<string, string[]>() } = useResource(secretUses);
  const [edited, setEdited] = useState<{ name: string; isNew: boolean } | undefined>();
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const { can_write: canWrite, can_delete: canDelete } = provider.capabilities;
  const remove = (key: string): void => {
    setRemoved(new Set([...removed, key]));
    const forget = (): void => setRemoved((current) => new Set([...current].filter((each) => each !== key)));
    withUndo(`Removing the secret ${key}`, {
      onUndo: forget,
      run: () =>
        void attempt('Cannot remove the secret', async () => {
          await client.deleteSecret({ params: { key } });
          refresh(secrets.key);
        }).then(forget),
    });
  };
  const shown = keys.filter((key) => !removed.has(key));
  return (
    <>
      <div className="toolbar">
        <span>Secrets are stored in {providers[provider.provider_type]}.</span>
        {canWrite && <Action onClick={() => setEdited({ name: '', isNew: true })}>Add a secret</Action>}
      </div>
      {shown.length === 0 && (
        <Empty title="No secrets are stored">Add one, or enter it when you run a server.</Empty>
      )}
      {shown.length > 0 && (
        <Table
          label="Secrets"
          columns={[
            {
              id: 'name',
              head: 'Name',
              width: 8,
              grow: 1,
              order: (key) => key,
              cell: (key) => <ForeignText>{key}</ForeignText>,
            },
            {
              id: 'use',
              head: 'Use',
              width: 8,
              grow: 1,
              order: (key) => uses.get(key)?.length ?? 0,
              cell: (key) => describeUses(uses.get(key)),
            },
            {
              id: 'actions',
              head: 'Actions',
              kind: 'actions',
              width: 11,
              cell: (key) => (
                <>
                  {canWrite && (
                    <Action
                      aria-label={`Replace ${plainForeign(key)}`}
                      onClick={() => setEdited({ name: key, isNew: false })}
                    >
                      Replace
                    </Action>
                  )}
                  {canDelete && (
                    <Action
                      aria-label={`Remove ${plainForeign(key)}`}
                      className="dangerous"
                      onClick={() => remove(key)}
                    >
                      Remove
                    </Action>
                  )}
                </>
              ),
            },
          ]}
          rows={shown}
          keyOf={(key) => key}
          firstSort={{ id: 'name', isDescending: false }}
        />
      )}
      {edited !== undefined && <SecretForm {...edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

function describeUses(names: readonly string[] = []): ReactNode {
  return (
    <span className="quiet">
      {names.length === 0 ? 'not used by a server' : `used by ${names.join(', ')}`}
    </span>
  );
}

function SecretForm({
  name,
  isNew,
  onClose,
}: {
  name: string;
  isNew: boolean;
  onClose: () => void;
}): ReactNode {
  const [key, setKey] = useState(name);
  const [value, setValue] = useState('');
  const [change, setChange] = useState<'secret.changed' | 'secret.removed' | undefined>();
  const isSaving = useRef(false);
  useEvents(
    useCallback(
      (event) => {
        const isAboutThis = event.type === 'secret.changed' || event.type === 'secret.removed';
        if (isAboutThis && event.name === name && !isSaving.current) setChange(event.type);
      },
      [name],
    ),
  );
  const isMissing = isNew || change === 'secret.removed';
  const save = async (): Promise<void> => {
    isSaving.current = true;
    const isDone = await attempt('Cannot save the secret', async () => {
      await (isMissing
        ? client.createSecret({ body: { key, value } })
        : client.updateSecret({ params: { key }, body: { value } }));
      refresh(secrets.key);
    });
    isSaving.current = false;
    if (!isDone) return;
    toast(isMissing ? `Saved ${key}` : `Replaced ${key}. Restart the servers that use it.`);
    onClose();
  };
  return (
    <Dialog title={isNew ? 'Add a secret' : `Replace ${name}`} onClose={onClose}>
      <Form onSubmit={save}>
        {!isNew && change !== undefined && (
          <div className="notice warning" role="alert">
            {change === 'secret.changed'
              ? 'This secret was replaced elsewhere while this dialog was open. If you save, your value replaces that one.'
              : 'This secret was removed elsewhere while this dialog was open. If you save, it is stored again.'}
          </div>
        )}
        {isNew && (
          <TextField
            label="Name"
            isRequired
            maxLength={256}
            pattern="[^,]+"
            title="Any text without commas"
            value={key}
            onChange={setKey}
          />
        )}
        <TextField label="Value" type="password" isRequired value={value} onChange={setValue} />
        <div className="buttons">
          <Action type="submit" className="primary">
            Save
          </Action>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
