import type { ReactNode } from 'react';
import type { PinnedItem } from '@toolhive/contract/tool-pins';
import { client } from '../../api/client.ts';
import { toolPins } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { Diff } from '../../ui/diff.tsx';
import { FirstFew } from '../../ui/first-few.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';

/** Changes since the last approval with their differences, and apart from them suspicious texts. */
export default function ReviewedItems({ name }: { name: string }): ReactNode {
  const { data } = useResource(toolPins(name));
  const pending = data?.items.filter(({ state }) => state !== 'approved') ?? [];
  const suspicious =
    data?.items.filter(({ state, findings }) => state === 'approved' && findings.length > 0) ?? [];
  if (data === undefined) return null;
  if (pending.length === 0) return <Suspicious items={suspicious} />;
  const waiting = pending.filter(({ pending_hash: hash }) => hash !== undefined);
  const decide = (items: readonly PinnedItem[], decision: 'approve' | 'dismiss'): Promise<boolean> =>
    attempt(`Cannot ${decision}`, async () => {
      const body = {
        items: items.flatMap(({ kind, name: item, pending_hash: hash }) =>
          hash === undefined ? [] : [{ kind, name: item, hash }],
        ),
      };
      await (decision === 'approve'
        ? client.approveToolPins({ params: { name }, body })
        : client.dismissToolPins({ params: { name }, body }));
      refresh(`pins/${name}`);
      refresh(`capabilities/${name}`);
    });
  return (
    <>
      <Suspicious items={suspicious} />
      <section className="notice warning" aria-labelledby="pending-changes">
        <h2 id="pending-changes">The server changed what it offers</h2>
        <p>
          {data.mode === 'block'
            ? 'Clients see the approved versions until you approve the changes.'
            : 'Clients see the changes already, because the tool pinning mode is warn.'}
        </p>
        <FirstFew items={pending} what="changes">
          {(item) => (
            <details key={`${item.kind} ${item.name}`} open={pending.length <= 3}>
              <summary>
                {item.kind} <ForeignText>{item.name}</ForeignText>: {item.state}
                {item.findings.length > 0 && ` (${item.findings.length} suspicious)`}
              </summary>
              <PinFindings item={item} />
              {item.diff !== undefined && <Diff text={item.diff} />}
              {item.pending_hash !== undefined && (
                <div className="buttons">
                  <Action
                    aria-label={`Approve ${item.kind} ${plainForeign(item.name)}`}
                    onClick={() => decide([item], 'approve')}
                  >
                    Approve
                  </Action>
                  <Action
                    aria-label={`Dismiss ${item.kind} ${plainForeign(item.name)}`}
                    onClick={() => decide([item], 'dismiss')}
                  >
                    Dismiss
                  </Action>
                </div>
              )}
            </details>
          )}
        </FirstFew>
        {waiting.length > 1 && (
          <Action onClick={() => decide(waiting, 'approve')}>Approve all {waiting.length} changes</Action>
        )}
      </section>
    </>
  );
}

/** Texts that try to direct a model. No one has approved them, and they have not changed: clients got them at the first use. */
function Suspicious({ items }: { items: readonly PinnedItem[] }): ReactNode {
  if (items.length === 0) return null;
  return (
    <section className="notice warning" aria-labelledby="suspicious-texts">
      <h2 id="suspicious-texts">Suspicious texts of the server</h2>
      <p>Read them before you use the server. Clients send these texts to the model.</p>
      <FirstFew items={items} what="texts">
        {(item) => (
          <details key={`${item.kind} ${item.name}`}>
            <summary>
              {item.kind} <ForeignText>{item.name}</ForeignText>: {item.findings.length} suspicious
            </summary>
            <PinFindings item={item} />
          </details>
        )}
      </FirstFew>
    </section>
  );
}

function PinFindings({ item }: { item: PinnedItem }): ReactNode {
  return (
    <ul className="plain">
      {item.findings.map(({ rule, severity, message, excerpt }) => (
        <li key={rule}>
          <span className={severity === 'high' ? 'problem' : 'busy'}>{severity}</span>:{' '}
          <ForeignText>{message}</ForeignText>
          {excerpt !== undefined && (
            <>
              {' '}
              <code>
                <ForeignText>{excerpt}</ForeignText>
              </code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
