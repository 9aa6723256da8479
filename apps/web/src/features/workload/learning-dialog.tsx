import type { ReactNode } from 'react';
import { mountsInUse } from '@toolhive/contract/mounts-in-use';
import type { LearnedMount } from '@toolhive/contract/network';
import { client } from '../../api/client.ts';
import { learning, networkDecisions, permissions } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.ts';

/** Ends learning mode with the smallest profile that covers all recorded access, or with the earlier profile. */
export default function LearningDialog({ name, onClose }: { name: string; onClose: () => void }): ReactNode {
  const resource = learning(name);
  const loaded = useResource(resource);
  const stop = (body: Parameters<typeof client.stopLearning>[0]['body']): Promise<boolean> =>
    attempt('Cannot stop learning', async () => {
      await client.stopLearning({ params: { name }, body });
      refresh(permissions(name).key);
      refresh(networkDecisions(name).key);
      toast('Learning has stopped.');
      onClose();
    });
  return (
    <Dialog title="The smallest sufficient profile" onClose={onClose}>
      <Shown loaded={loaded} name={resource.key} what="the learned access">
        {({ complete, hosts, network, mounts }) => (
          <>
            {!complete && <p className="problem">The record was full, so hosts may be missing.</p>}
            <ul className="plain">
              {hosts.added.map((host) => (
                <li key={host} className="diff-added">
                  + <ForeignText>{host}</ForeignText>
                </li>
              ))}
              {hosts.removed.map((host) => (
                <li key={host} className="diff-removed">
                  − <ForeignText>{host}</ForeignText>
                </li>
              ))}
              {hosts.kept.map((host) => (
                <li key={host}>
                  <ForeignText>{host}</ForeignText>
                </li>
              ))}
            </ul>
            <p>
              {network.hosts.length === 0
                ? 'The server reached no host, so it gets no network.'
                : `Ports: ${network.ports.join(', ')}`}
            </p>
            {mounts.length > 0 && (
              <ul className="plain">
                {mounts.map((mount) => (
                  <li key={mount.target} className={mount.used === 'none' ? 'diff-removed' : ''}>
                    {mount.used === 'none' && '− '}
                    <ForeignText>{mount.target}</ForeignText>: {describeUse(mount)}
                  </li>
                ))}
              </ul>
            )}
            <div className="buttons">
              <Action className="primary" onClick={() => stop({ network, mounts: mountsInUse(mounts) })}>
                Use this profile
              </Action>
              <Action onClick={() => stop({})}>Keep the old profile</Action>
            </div>
          </>
        )}
      </Shown>
    </Dialog>
  );
}

function describeUse({ granted, used, unknown }: LearnedMount): string {
  if (unknown !== undefined) return `kept, because the use is unknown (${unknown})`;
  if (used === 'none') return 'not used';
  if (used === granted) return used === 'read' ? 'read' : 'read and written';
  return 'only read, and read-only from now on';
}
