import type { ReactNode } from 'react';
import type { ClientName } from '@toolhive/contract/client-application';
import { clientPreview } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Notice, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';

/** A preview of the changes to a client's configuration file. */
export function Preview({
  name,
  product,
  group,
  onClose,
  onAccept,
}: {
  name: ClientName;
  product: string;
  group: string;
  onClose: () => void;
  onAccept: () => Promise<void>;
}): ReactNode {
  const resource = clientPreview(name, group);
  const loaded = useResource(resource);
  return (
    <Dialog title={`Connect ${product} to the group ${group}`} onClose={onClose}>
      <Shown loaded={loaded} name={resource.key} what="the change">
        {({ path, exists, changes, diff, problem }) => (
          <>
            <p>
              {exists ? 'ToolHive changes' : 'ToolHive creates'}{' '}
              <code>
                <ForeignText>{path}</ForeignText>
              </code>
              .
            </p>
            {problem !== undefined && (
              <Notice kind="failure">
                <ForeignText>{problem}</ForeignText>
              </Notice>
            )}
            {changes.length === 0 ? (
              <p>The group has no running server yet, so the file stays as it is until one runs.</p>
            ) : (
              <Diff text={diff} />
            )}
          </>
        )}
      </Shown>
      <div className="buttons">
        <Action className="primary" onClick={onAccept}>
          Connect
        </Action>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
