import { useState } from 'react';
import type { ReactNode } from 'react';
import { Notice } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import type { AppHostOptions } from './app-host.ts';
import { isGrantable } from './app-page.ts';
import type { Asked } from './app-page.ts';

type Grants = AppHostOptions['grants'];

/** Shows the network access that an app asks for. The user grants single hosts, for this result. */
export function AskedAccess({
  asked: { connect, resources, never },
  grants,
  onGrant,
}: {
  asked: Asked;
  grants: Grants;
  onGrant: (grants: Grants) => void;
}): ReactNode {
  const [chosen, setChosen] = useState(grants);
  const refused = [...new Set([...connect, ...resources].filter((host) => !isGrantable(host))), ...never];
  const grantable = {
    connect_hosts: connect.filter(isGrantable),
    resource_hosts: resources.filter(isGrantable),
  };
  const isAsking = grantable.connect_hosts.length + grantable.resource_hosts.length > 0;
  if (!isAsking && refused.length === 0) return null;
  return (
    <Notice>
      {isAsking && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onGrant({ ...chosen });
          }}
        >
          <Hosts
            legend="The app asks to send data to these hosts"
            hosts={grantable.connect_hosts}
            chosen={chosen.connect_hosts}
            onChange={(connect_hosts) => setChosen({ ...chosen, connect_hosts })}
          />
          <Hosts
            legend="The app asks to load code and media from these hosts"
            hosts={grantable.resource_hosts}
            chosen={chosen.resource_hosts}
            onChange={(resource_hosts) => setChosen({ ...chosen, resource_hosts })}
          />
          <p className="quiet">
            Each host that you select can receive the result and everything that you enter in the app.
          </p>
          <button type="submit">Show the app with the selected hosts</button>
        </form>
      )}
      {refused.length > 0 && (
        <p>
          The app also asks for access that the web UI does not grant:{' '}
          <ForeignText>{refused.join(', ')}</ForeignText>.
        </p>
      )}
    </Notice>
  );
}

function Hosts({
  legend,
  hosts,
  chosen,
  onChange,
}: {
  legend: string;
  hosts: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}): ReactNode {
  if (hosts.length === 0) return null;
  return (
    <fieldset>
      <legend>{legend}</legend>
      {hosts.map((host) => (
        <label key={host} className="choice">
          <input
            type="checkbox"
            checked={chosen.includes(host)}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, host] : chosen.filter((other) => other !== host))
            }
          />
          <ForeignText>{host}</ForeignText>
        </label>
      ))}
    </fieldset>
  );
}
