import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { NetworkDecision, Permissions } from '@toolhive/contract/network';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { client } from '../../api/client.ts';
import { networkDecisions, permissions, workload } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import type { Loaded } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { CheckedPermissions } from '../../ui/checked.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Doors, doorsOf } from '../../ui/doors.tsx';
import { Form, SelectField } from '../../ui/fields.tsx';
import { Launch, useAttempts } from '../../ui/launch.tsx';
import { Shown } from '../../ui/states.tsx';
import { attempt, toast } from '../../ui/toasts.ts';
import { draftOfWorkload, linesIn, requestOf } from '../../ui/workload-draft.ts';
import type { Draft } from '../../ui/workload-draft.ts';
import { Mounts, NetworkFields, Variables } from '../../ui/workload-form.tsx';
import type { Ask } from './asked-access.tsx';
import { RestartNote } from './restart-note.tsx';

const learningTimes = [
  ['900', '15 minutes'],
  ['3600', '1 hour'],
  ['28800', '8 hours'],
  ['', 'Until you stop it'],
] as const;

const titles: Readonly<Record<Ask['kind'], string>> = {
  files: 'Access to files',
  network: 'Access to the network',
  secrets: 'Variables and secrets',
  allow: 'Allow a host',
  deny: 'Deny a host',
  tighten: 'Allow only the used hosts',
  learn: 'Learn the required access',
};

interface Props {
  name: string;
  ask: Ask;
  onClose: () => void;
}

/** One dialog for every change of access: the doors before and after, the risk, the duration, and the cost. */
export default function AccessDialog({ name, ask, onClose }: Props): ReactNode {
  const details = useResource(workload(name));
  const granted = useResource(permissions(name));
  const decisions = useResource(networkDecisions(name));
  const isGone = details.error?.kind === 'not-found' && details.data !== undefined;
  const kept = <Data,>(loaded: Loaded<Data>): Loaded<Data> =>
    isGone && loaded.data !== undefined ? { ...loaded, error: undefined } : loaded;
  return (
    <Dialog title={titles[ask.kind]} className="wide" onClose={onClose}>
      {isGone && (
        <div className="notice warning" role="alert">
          This server was removed elsewhere, so nothing can be saved.
        </div>
      )}
      <Shown loaded={kept(details)} name={workload(name).key} what="the server">
        {(found) => (
          <Shown loaded={kept(granted)} name={permissions(name).key} what="the permissions">
            {(access) => (
              <Shown loaded={kept(decisions)} name={networkDecisions(name).key} what="the connections">
                {(list) =>
                  ask.kind === 'learn' || ask.kind === 'tighten' ? (
                    <NetworkStep
                      details={found}
                      access={access}
                      used={usedHosts(list)}
                      {...{ ask, onClose }}
                    />
                  ) : (
                    <EditedAccess details={found} used={usedHosts(list)} {...{ ask, onClose }} />
                  )
                }
              </Shown>
            )}
          </Shown>
        )}
      </Shown>
    </Dialog>
  );
}

function usedHosts(decisions: readonly NetworkDecision[]): string[] {
  return [...new Set(decisions.filter(({ verdict }) => verdict === 'allowed').map(({ host }) => host))];
}

/** The changes that have an operation of their own and nothing to choose. */
function NetworkStep({
  details: { name, secrets = [] },
  access,
  used,
  ask,
  onClose,
}: {
  details: WorkloadDetails;
  access: Permissions;
  used: readonly string[];
  ask: Ask;
  onClose: () => void;
}): ReactNode {
  const isLearning = ask.kind === 'learn';
  const [seconds, setSeconds] = useState('3600');
  const network: Permissions['network'] = isLearning
    ? { kind: 'rules', enforced: access.network.enforced }
    : { ...access.network, kind: 'rules', hosts: [...used] };
  const names = (secrets ?? []).map(({ target }) => target);
  const doors = doorsOf({ ...access, network }, names);
  // In learning mode, the server still reaches the listed hosts, so they are not shown as removed.
  const before = doorsOf(access, names).map((door, index) =>
    isLearning ? { ...door, names: doors[index]?.names ?? [] } : door,
  );
  const act = async (): Promise<void> => {
    const isDone = await attempt(
      isLearning ? 'Cannot start learning' : 'Cannot change the rules',
      async () => {
        const { restarted } = isLearning
          ? await client.startLearning({ params: { name }, query: seconds === '' ? {} : { seconds } })
          : await client.changePermissions({ params: { name }, body: { tighten: true } });
        told(restarted);
        refreshAccess(name);
      },
    );
    if (isDone) onClose();
  };
  return (
    <>
      <Doors doors={doors} before={before} />
      {isLearning ? (
        <>
          <p>
            <span className="risk high">Risk</span> While ToolHive learns, the server can send everything that
            it can read to any public host. ToolHive records each host.
          </p>
          <SelectField
            label="Duration"
            options={learningTimes}
            value={seconds}
            onChange={setSeconds}
            hint="The time also counts while the daemon does not run. At the end, the server has its earlier access again, and nothing is applied. A red stripe stays on the screens of this server as long as it learns."
          />
        </>
      ) : (
        <p>
          <strong>Duration</strong> Until you change it. New connections to other hosts are denied.
        </p>
      )}
      <div className="buttons">
        <Action className="primary" onClick={() => act()}>
          {isLearning ? 'Start learning' : 'Save'}
        </Action>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </>
  );
}

/** A change of the settings. A list of hosts changes at once, and everything else restarts the workload. */
function EditedAccess({
  details,
  used,
  ask,
  onClose,
}: {
  details: WorkloadDetails;
  used: readonly string[];
  ask: Ask;
  onClose: () => void;
}): ReactNode {
  const { name } = details;
  // The dialog keeps the user's changes when the workload changes its status.
  const [before] = useState(() => draftOfWorkload(details));
  const [revision] = useState(details.revision);
  const [draft, setDraft] = useState(() => asked(before, ask, used));
  const attempts = useAttempts();
  const form = useRef<HTMLFormElement>(null);
  const change = liveChange(before, draft, ask);
  const network = (
    <NetworkFields draft={draft} set={(changes) => setDraft({ ...draft, ...changes })} used={used} />
  );
  const applyNow = async (): Promise<void> => {
    const isDone = await attempt('Cannot change the rules', async () => {
      const { restarted } = await client.changePermissions({ params: { name }, body: change ?? {} });
      told(restarted);
      refreshAccess(name);
    });
    if (isDone) onClose();
  };
  return (
    <Form ref={form} failure={attempts.failure} onSubmit={() => change && applyNow()}>
      <CheckedPermissions draft={draft} isRunning={attempts.isRunning} edited={name} />
      {ask.kind === 'files' && (
        <Mounts mounts={draft.mounts} onChange={(mounts) => setDraft({ ...draft, mounts })} />
      )}
      {ask.kind === 'secrets' && (
        <Variables variables={draft.variables} onChange={(variables) => setDraft({ ...draft, variables })} />
      )}
      {ask.kind === 'network' && network}
      {(ask.kind === 'allow' || ask.kind === 'deny') && (
        <details>
          <summary>Change more of the network access</summary>
          {network}
        </details>
      )}
      <p>
        <strong>Duration</strong> Until you change it.
        {change !== undefined && ' It applies to new connections.'}
      </p>
      {change === undefined && <RestartNote name={name} />}
      {change !== undefined ? (
        <div className="buttons">
          <Action type="submit" className="primary">
            Save
          </Action>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      ) : (
        <>
          <Launch
            draft={draft}
            edited={name}
            revision={revision}
            attempts={attempts}
            isValid={() => form.current?.reportValidity() === true}
            onDone={() => {
              told(true);
              refreshAccess(name);
              onClose();
            }}
          />
          <button type="button" onClick={onClose}>
            Discard
          </button>
        </>
      )}
    </Form>
  );
}

function told(isRestarted: boolean): void {
  toast(isRestarted ? 'Saved. The server restarts.' : 'Saved. It applies to new connections.');
}

function refreshAccess(name: string): void {
  for (const resource of [workload(name), permissions(name), networkDecisions(name)]) refresh(resource.key);
}

/** The settings with the change that the user has begun. */
function asked(draft: Draft, ask: Ask, used: readonly string[]): Draft {
  switch (ask.kind) {
    case 'secrets': {
      const isKnown = draft.variables.some(({ name }) => name === ask.variable);
      const row = { name: ask.variable ?? '', kind: 'new-secret', value: '' } as const;
      return isKnown ? draft : { ...draft, variables: [...draft.variables, row] };
    }
    case 'files':
      return draft.mounts.length > 0
        ? draft
        : { ...draft, mounts: [{ source: '', target: '', isReadOnly: true }] };
    case 'allow': {
      const { host, port } = placeOf(ask.place);
      // A rule about an address replaces "every public host", so the list begins with the used hosts.
      const listed = draft.network === 'hosts' ? linesIn(draft.hosts) : draft.network === 'none' ? [] : used;
      const known = draft.network === 'none' ? [] : portsOf(draft);
      const ports = port === undefined || known.includes(port) ? known : [...known, port];
      return {
        ...draft,
        network: 'hosts',
        hosts: [...new Set([...listed, host])].join('\n'),
        ports: (ports.length === 0 ? [443] : ports).join(', '),
      };
    }
    case 'deny':
      return {
        ...draft,
        hosts: linesIn(draft.hosts)
          .filter((host) => host !== ask.host)
          .join('\n'),
      };
    default:
      return draft;
  }
}

/** A host and its port. An IPv6 address with a port is in brackets. */
function placeOf(place: string): { host: string; port?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(place) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? { host: place } : { host, port: Number(port) };
}

const portsOf = ({ ports }: Draft): number[] =>
  ports
    .split(/[\s,]+/)
    .filter((port) => port !== '')
    .map(Number);

/** The change as one of a list of hosts, for which no server restarts. Undefined if more is changed than that. */
function liveChange(before: Draft, after: Draft, ask: Ask): { allow: string[]; deny: string[] } | undefined {
  const { permission_profile: _before, ...others } = requestOf(before);
  const { permission_profile: _after, ...changed } = requestOf(after);
  if (JSON.stringify(others) !== JSON.stringify(changed)) return undefined;
  const hadHosts = before.network === 'hosts' ? linesIn(before.hosts) : [];
  const hosts = linesIn(after.hosts);
  if (after.network !== 'hosts' || hosts.length === 0) return undefined;
  if (before.network !== 'hosts' && before.network !== 'none') return undefined;
  const added = hosts.filter((host) => !hadHosts.includes(host));
  const removed = hadHosts.filter((host) => !hosts.includes(host));
  const ports = portsOf(after);
  const missing = ports.filter((port) => before.network === 'none' || !portsOf(before).includes(port));
  const kept = portsOf(before).every((port) => before.network === 'none' || ports.includes(port));
  const place = ask.kind === 'allow' ? placeOf(ask.place) : undefined;
  if (!kept || missing.some((port) => port !== place?.port) || added.length + removed.length === 0)
    return undefined;
  return {
    allow: added.map((host) => (host === place?.host && ask.kind === 'allow' ? ask.place : host)),
    deny: removed,
  };
}
