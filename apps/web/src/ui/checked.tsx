import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ThvError } from '@toolhive/contract/failure';
import type { Permissions } from '@toolhive/contract/network';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import { client } from '../api/client.ts';
import { permissions, workload } from '../api/resources.ts';
import { failureOf, useResource } from '../api/store.ts';
import { Doors, doorsOf } from './doors.tsx';
import { inScreenWords } from './format.ts';
import { PermissionList, permissionsOf } from './permissions.tsx';
import { ForeignText } from './text.tsx';
import { profileOf, requestOf } from './workload-draft.ts';
import type { Draft } from './workload-draft.ts';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';

/** The pause after a change before the request to the daemon. */
const pauseMs = 400;

/**
 * The permissions of a draft before its server starts. The daemon determines them. Until its response arrives, and while
 * the form is not complete, the profile is described as the form has it.
 */
export function CheckedPermissions({
  draft,
  edited,
  registryProfile,
  isRunning = false,
}: {
  draft: Draft;
  /** The workload that is edited. */
  edited?: string;
  /** The profile of the registry entry. */
  registryProfile?: PermissionProfile | undefined;
  /** Whether the draft is being run, so that its name is taken. It is checked again afterwards. */
  isRunning?: boolean;
}): ReactNode {
  const [check, setCheck] = useState<WorkloadCheck | undefined>();
  const [failure, setFailure] = useState<ThvError | undefined>();
  const request = JSON.stringify(checkable(draft));
  useEffect(() => {
    if (isRunning) return undefined;
    const controller = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const body = JSON.parse(request) as ReturnType<typeof requestOf>; // made by it, above
        const found = await client.checkWorkload(
          { body, query: { edit: edited } },
          { signal: controller.signal },
        );
        if (controller.signal.aborted) return;
        setCheck(found);
        setFailure(undefined);
      } catch (thrown) {
        if (controller.signal.aborted) return;
        setCheck(undefined);
        setFailure(failureOf(thrown));
      }
    };
    const timer = setTimeout(() => void ask(), pauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [request, edited, isRunning]);
  const access = check?.permissions ?? permissionsOf(localProfile(draft, registryProfile));
  const hosts = profileOf(draft)?.network?.outbound?.allow_host ?? [];
  const known = registryProfile?.network?.outbound?.allow_host ?? [];
  const extra = registryProfile === undefined ? [] : hosts.filter((host) => !known.includes(host));
  return (
    <>
      {edited === undefined ? (
        <Doors doors={doorsOf(access, secretsIn(draft))} />
      ) : (
        <ChangedDoors name={edited} draft={draft} access={access} />
      )}
      <PermissionList permissions={access} />
      {check?.risks.map(({ risk, text }) => (
        <p key={`${risk} ${text}`} className="problem">
          Needs your consent: <ForeignText>{text}</ForeignText>
        </p>
      ))}
      {extra.length > 0 && (
        <p className="busy">
          More than the registry asks for: <ForeignText>{extra.join(', ')}</ForeignText>
        </p>
      )}
      {failure !== undefined && failure.kind !== 'unavailable' && (
        <p className="quiet" role="status">
          Not ready to run: <ForeignText>{inScreenWords(failure.message)}</ForeignText>
        </p>
      )}
    </>
  );
}

/** The variables with a secret. */
function secretsIn({ variables }: Draft): string[] {
  return variables.filter(({ kind, name }) => kind !== 'text' && name !== '').map(({ name }) => name);
}

function ChangedDoors({
  name,
  draft,
  access,
}: {
  name: string;
  draft: Draft;
  access: Permissions;
}): ReactNode {
  const { data: granted } = useResource(permissions(name));
  const { data: details } = useResource(workload(name));
  const before =
    granted &&
    details &&
    doorsOf(
      granted,
      (details.secrets ?? []).map(({ target }) => target),
    );
  return <Doors doors={doorsOf(access, secretsIn(draft))} before={before} />;
}

/** New secrets are stored when the server runs, so the check contains a placeholder. */
function checkable(draft: Draft): ReturnType<typeof requestOf> {
  const variables = draft.variables.map((variable) =>
    variable.kind === 'new-secret'
      ? { ...variable, kind: 'text' as const, value: variable.value && 'secret' }
      : variable,
  );
  return requestOf({ ...draft, variables });
}

function localProfile(draft: Draft, registryProfile: PermissionProfile | undefined): PermissionProfile {
  const profile = profileOf(draft) ?? registryProfile;
  const paths = (isReadOnly: boolean): string[] =>
    draft.mounts
      .filter((mount) => mount.source !== '' && mount.isReadOnly === isReadOnly)
      .map(({ source, target }) => `${source}:${target || source}`);
  return {
    ...profile,
    network: profile?.network ?? { outbound: { allow_port: [80, 443] } },
    read: [...(profile?.read ?? []), ...paths(true)],
    write: [...(profile?.write ?? []), ...paths(false)],
  };
}
