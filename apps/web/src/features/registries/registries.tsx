import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import type { UpdateRegistry } from '@toolhive/contract/registry';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import { registries } from '../../api/resources.ts';
import { failureOf, refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Form, TextField } from '../../ui/fields.tsx';
import { count, dateTime } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { Failure, Notice, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';

/** Where the registry comes from. */
export function Registries(): ReactNode {
  const loaded = useResource(registries);
  const [source, setSource] = useState('');
  const [isPrivate, setPrivate] = useState(false);
  const [failure, setFailure] = useState<ThvError | undefined>();
  const change = async (body: UpdateRegistry, form?: HTMLFormElement): Promise<void> => {
    try {
      await client.updateRegistry({ params: { name: 'default' }, body });
      refresh(registries.key);
      setFailure(undefined);
      setSource('');
      form?.reset(); // the browser forgets that the required field was filled in
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
  };
  const isUrl = /^https?:\/\//.test(source);
  return (
    <Page title="Registries" help="/toolhive/guides-ui/registry">
      <Shown loaded={loaded} name={registries.key} what="the registries">
        {(list) =>
          list.map((registry) => (
            <section key={registry.name}>
              <h2>
                <Link href="/add">{registry.name}</Link>
              </h2>
              {registry.problem !== undefined && (
                <Notice kind="warning">
                  <ForeignText>{registry.problem}</ForeignText>
                </Notice>
              )}
              <dl className="pairs">
                <div>
                  <dt>Source</dt>
                  <dd>
                    {registry.type === 'default' ? (
                      'built into ToolHive'
                    ) : (
                      <ForeignText>{registry.source}</ForeignText>
                    )}
                  </dd>
                </div>
                <div>
                  <dt>Content</dt>
                  <dd>
                    {count(registry.server_count, 'local server')}, last updated{' '}
                    {registry.last_updated === '' ? 'at an unknown time' : dateTime(registry.last_updated)}
                  </dd>
                </div>
                {registry.fetched_at !== undefined && (
                  <div>
                    <dt>Read</dt>
                    <dd>{dateTime(registry.fetched_at)}</dd>
                  </div>
                )}
              </dl>
              {(registry.skipped_count ?? 0) > 0 && (
                <details>
                  <summary>{count(registry.skipped_count ?? 0, 'entry', 'entries')} skipped</summary>
                  <ul className="plain">
                    {registry.skipped?.map(({ name, why }) => (
                      <li key={name}>
                        <ForeignText>{`${name}: ${why}`}</ForeignText>
                      </li>
                    ))}
                  </ul>
                </details>
              )}
              <div className="buttons">
                <Action onClick={() => refresh(registries.key)}>Refresh</Action>
                {registry.type !== 'default' && (
                  <Action onClick={() => change({})}>Use the built-in registry</Action>
                )}
              </div>
            </section>
          ))
        }
      </Shown>
      <Form
        failure={failure}
        onSubmit={(form) =>
          change(isUrl ? { url: source, allow_private_ip: isPrivate } : { local_path: source }, form)
        }
      >
        <h2>Use another registry</h2>
        <TextField
          label="URL or path"
          hint="The URL of a registry or of an MCP registry API, or the path of a .json file on this machine. ToolHive reads it before anything changes."
          pointer={isUrl ? '/url' : '/local_path'}
          isRequired
          value={source}
          pattern="https?://.*|/.*|[A-Za-z]:.*"
          onChange={setSource}
        />
        <label className="choice">
          <input type="checkbox" checked={isPrivate} onChange={({ target }) => setPrivate(target.checked)} />
          Allow private addresses and http
        </label>
        {failure !== undefined && <Failure failure={failure} title="Cannot change the registry" />}
        <div className="buttons">
          <Action type="submit">Use this registry</Action>
        </div>
      </Form>
    </Page>
  );
}
