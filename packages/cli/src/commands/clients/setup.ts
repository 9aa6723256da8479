import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName, RegisteredClient } from '@toolhive/contract/client-application';
import { invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import { chooseSeveral } from '../../choose.ts';
import type { CommandCall } from '../../command.ts';
import { canAsk } from '../../prompt.ts';
import { isShown } from '../groups/shown.ts';
import { noteProblems, registrationsOf } from './application.ts';

/** Lets the user choose which installed clients see the workloads of which groups. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  if (!canAsk()) {
    throw invalid('no terminal available', {
      hint: 'use `thv client register CLIENT --group GROUP`',
    });
  }
  const daemon = await client();
  const { clients } = await daemon.discoverClients({}, { signal });
  const installed = clients.filter((found) => found.installed).map(({ client_type: type }) => type);
  if (installed.length === 0) return out.result([], 'No clients found on this machine.');

  const all = await daemon.listGroups({}, { signal });
  const shown = all.groups.filter(isShown).map(({ name }) => name);
  const groups = await chooseGroups(shown, signal);
  if (groups.length === 0) {
    const unchanged = await registrationsOf(installed, { daemon, signal });
    return out.result(unchanged, 'No group was chosen, so nothing was changed.');
  }
  const registered = await daemon.listClients({}, { signal });
  const before = installed.filter((name) => seesAll(registered, name, groups));
  const chosen = await chooseSeveral(
    `Which clients can use the workloads in ${groups.join(', ')}?`,
    installed.map((value) => ({ value, label: labelOf(value), isChosen: before.includes(value) })),
    { signal },
  );

  const added = chosen.filter((name) => !before.includes(name));
  const removed = before.filter((name) => !chosen.includes(name));
  if (added.length > 0) await daemon.registerClients({ body: { names: added, groups } }, { signal });
  if (removed.length > 0) await daemon.unregisterClients({ body: { names: removed, groups } }, { signal });
  const of = `the workloads in ${groups.join(', ')}`;
  const changes = [
    ...added.map((name) => `${name} can use ${of}`),
    ...removed.map((name) => `${name} can no longer use ${of}`),
  ];
  const now = await registrationsOf(installed, { daemon, signal });
  out.result(now, changes.join('\n') || 'Nothing was changed.');
  noteProblems(out, now);
}

/** Skips the question if only one group exists. */
async function chooseGroups(groups: readonly string[], signal: AbortSignal): Promise<string[]> {
  if (groups.length < 2) return [...groups];
  return chooseSeveral(
    'Which groups?',
    groups.map((value) => ({ value, label: value, isChosen: value === defaultGroup })),
    { signal },
  );
}

function seesAll(
  registered: readonly RegisteredClient[],
  name: ClientName,
  groups: readonly string[],
): boolean {
  const own = registered.find((candidate) => candidate.name === name)?.groups ?? [];
  return groups.every((group) => own.includes(group));
}

function labelOf(name: ClientName): string {
  const product = clientApplications.find(({ id }) => id === name)?.product;
  return product === undefined ? name : `${name} (${product})`;
}
