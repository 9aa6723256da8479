import { useState } from 'react';
import type { ReactNode } from 'react';
import type { Setting } from '@toolhive/contract/setting';
import { client } from '../../api/client.ts';
import { daemon, settings, version } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { dateTime } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { chooseTheme, storedTheme, themes } from '../../ui/theme.ts';
import type { Theme } from '../../ui/theme.ts';
import { attempt } from '../../ui/toasts.ts';

/** The daemon's settings, and this browser's theme. */
export function Settings(): ReactNode {
  const loaded = useResource(settings);
  const { data: running } = useResource(version);
  const { data: hive } = useResource(daemon);
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Page title="Settings">
      <fieldset>
        <legend>Theme</legend>
        {themes.map((each) => (
          <label key={each} className="choice">
            <input
              type="radio"
              name="theme"
              checked={theme === each}
              onChange={() => {
                chooseTheme(each);
                setTheme(each);
              }}
            />
            {labels[each]}
          </label>
        ))}
      </fieldset>
      <h2>Daemon</h2>
      <dl className="pairs">
        <div>
          <dt>Version</dt>
          <dd>{running ?? 'not known'}</dd>
        </div>
        {hive !== undefined && (
          <div>
            <dt>Started</dt>
            <dd>
              {dateTime(hive.started_at)}, process {hive.pid}
            </dd>
          </div>
        )}
      </dl>
      <Shown loaded={loaded} name={settings.key} what="the settings">
        {(list) => (
          <ul className="rows">
            {list.map((setting) => (
              <SettingRow key={`${setting.name} ${JSON.stringify(setting.value)}`} setting={setting} />
            ))}
          </ul>
        )}
      </Shown>
    </Page>
  );
}

const labels: Record<Theme, string> = { system: 'Same as the system', light: 'Light', dark: 'Dark' };

function SettingRow({ setting: { name, summary, value, problem } }: { setting: Setting }): ReactNode {
  const stored = value === null ? '' : Array.isArray(value) ? value.join(',') : String(value);
  const [text, setText] = useState(stored);
  const save = (next: string | null): Promise<boolean> =>
    attempt(`Cannot change ${name}`, async () => {
      await (next === null
        ? client.unsetSetting({ params: { name } })
        : client.changeSetting({ params: { name }, body: { value: next } }));
      refresh(settings.key);
    });
  return (
    <li>
      <form
        className="setting"
        onSubmit={(event) => {
          event.preventDefault();
          void save(text);
        }}
      >
        <div>
          <label htmlFor={`setting-${name}`}>{name}</label>
          <p className="quiet">{summary}</p>
          {problem !== undefined && (
            <p className="problem">
              <ForeignText>{problem}</ForeignText>
            </p>
          )}
        </div>
        <div className="setting-value">
          <input
            id={`setting-${name}`}
            value={text}
            placeholder="not set"
            autoComplete="off"
            onChange={({ target }) => setText(target.value)}
          />
          <Action type="submit" disabled={text === stored || text === ''} aria-label={`Save ${name}`}>
            Save
          </Action>
          {value !== null && (
            <Action aria-label={`Unset ${name}`} onClick={() => void save(null)}>
              Unset
            </Action>
          )}
        </div>
      </form>
    </li>
  );
}
