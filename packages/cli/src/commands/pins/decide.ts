import { invalid, notFound } from '@toolhive/contract/failure';
import type { PinnedItem } from '@toolhive/contract/tool-pins';
import type { CommandCall } from '../../command.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { showChange } from './changes.ts';

const words = {
  approve: { question: 'Approve', done: 'approved', operation: 'approveToolPins' },
  dismiss: { question: 'Forget', done: 'forgotten', operation: 'dismissToolPins' },
} as const;

/** A command that shows changes of a server and decides about exactly those. */
export function decideWith(decision: keyof typeof words) {
  const { question, done, operation } = words[decision];
  return async ({
    arguments: [name = '', ...chosen],
    flags,
    out,
    client,
    signal,
  }: CommandCall): Promise<void> => {
    const daemon = await client();
    const { items } = await daemon.getToolPins({ params: { name } }, { signal });
    const waiting = items.filter((item) => item.pending_hash !== undefined && isChosen(item, chosen));
    requireAll(chosen, waiting, name);
    const isJson = flags.text('format') === 'json';
    if (!isJson) out.record(waiting, (page) => waiting.forEach((item) => showChange(page, item)));
    if (waiting.length > 0 && !flags.has('yes')) {
      if (isJson || !canAsk()) {
        throw invalid(`nothing was ${done}`, {
          hint: `review the changes with thv pin show ${name}, then add --yes`,
        });
      }
      await confirm(
        `${question} ${waiting.length === 1 ? 'this change' : `these ${waiting.length} changes`}?`,
        {
          signal,
        },
      );
    }
    const versions = waiting.map(({ kind, name: item, pending_hash: hash = '' }) => ({
      kind,
      name: item,
      hash,
    }));
    const decided = await daemon[operation]({ params: { name }, body: { items: versions } }, { signal });
    out.result(decided, `${decided.decided} ${done}, ${decided.pending} left.`);
  };
}

const isChosen = ({ kind, name }: PinnedItem, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.includes(kind === 'instructions' ? 'instructions' : name);

/** Throws `not-found` for a name without a change that waits. */
function requireAll(chosen: readonly string[], waiting: readonly PinnedItem[], name: string): void {
  const missing = chosen.find((one) => !waiting.some((item) => isChosen(item, [one])));
  if (missing === undefined) return;
  throw notFound(`no change of ${JSON.stringify(missing)} is waiting for approval`, {
    hint: `to see the changes that are, run thv pin show ${name}`,
  });
}
