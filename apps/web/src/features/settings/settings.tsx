import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import type { Setting } from '@toolhive/contract/setting';
import { client } from '../../api/client.ts';
import { daemon, settings, version } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { notificationState, switchNotifications } from '../../notifications/notifications.ts';
import type { NotificationState } from '../../notifications/notifications.ts';
import { Action } from '../../ui/action.tsx';
import { Form } from '../../ui/fields.tsx';
import { useFollowed } from '../../ui/followed.ts';
import { dateTime } from '../../ui/format.ts';
import { Instant } from '../../ui/instant.tsx';
import { Page } from '../../ui/page.tsx';
import { Overtaken, Shown } from '../../ui/states.tsx';
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
      <NotificationSwitch />
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
              <SettingRow key={setting.name} setting={setting} />
            ))}
          </ul>
        )}
      </Shown>
    </Page>
  );
}

const notificationTexts: Record<NotificationState, string> = {
  unsupported: 'This browser cannot show notifications.',
  refused: 'The browser refuses notifications of this page. Its site settings allow them again.',
  off: 'For this browser. It asks for your permission.',
  on: 'For this browser, while a tab or the installed app is open.',
};

function NotificationSwitch(): ReactNode {
  const [state, setState] = useState(notificationState);
  const id = useId();
  return (
    <fieldset>
      <legend>Notifications</legend>
      <Instant
        isSwitch
        aria-describedby={id}
        isOn={state === 'on'}
        isDisabled={state === 'unsupported' || state === 'refused'}
        onChange={(isOn) =>
          attempt('Cannot change notifications', async () => setState(await switchNotifications(isOn)))
        }
      >
        Notify about failures, changed tools, and found updates
      </Instant>
      <p id={id} className="quiet">
        {notificationTexts[state]}
      </p>
    </fieldset>
  );
}

const choiceLabels: Record<string, string> = {
  true: 'yes',
  false: 'no',
  public: 'every public host',
  none: 'no network',
  ask: 'ask for a profile',
};

function sentence(summary: string): string {
  return `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;
}

const labels: Record<Theme, string> = { system: 'Same as the system', light: 'Light', dark: 'Dark' };

function SettingRow({ setting }: { setting: Setting }): ReactNode {
  const { name, title, choices, summary, value, problem } = setting;
  const stored = value === null ? '' : Array.isArray(value) ? value.join(',') : String(value);
  const { text, set: setText, isOvertaken } = useFollowed(stored);
  const save = (next: string | null): Promise<boolean> =>
    attempt(`Cannot change ${title}`, async () => {
      await (next === null
        ? client.unsetSetting({ params: { name } })
        : client.changeSetting({ params: { name }, body: { value: next } }));
      refresh(settings.key);
    });
  return (
    <li>
      <Form className="setting" onSubmit={() => save(text === '' ? null : text)}>
        <div>
          <label htmlFor={`setting-${name}`}>{title}</label> <code className="quiet">{name}</code>
          <p className="quiet">{sentence(summary)}</p>
          {isOvertaken && <Overtaken stored={stored} onUse={() => setText(stored)} name={title} />}
          {problem !== undefined && (
            <p className="problem">
              <ForeignText>{problem}</ForeignText>
            </p>
          )}
        </div>
        <div className="setting-value">
          {choices === undefined ? (
            <input
              id={`setting-${name}`}
              value={text}
              placeholder="not set"
              autoComplete="off"
              onChange={({ target }) => setText(target.value)}
            />
          ) : (
            <select id={`setting-${name}`} value={text} onChange={({ target }) => setText(target.value)}>
              <option value="">not set</option>
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {choiceLabels[choice] ?? choice}
                </option>
              ))}
            </select>
          )}
          <Action
            type="submit"
            disabled={text === stored && problem === undefined}
            aria-label={`Save ${title}`}
          >
            Save
          </Action>
        </div>
      </Form>
    </li>
  );
}
