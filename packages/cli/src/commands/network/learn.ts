import { invalid } from '@toolhive/contract/failure';
import type { LearnedMount, LearningProposal } from '@toolhive/contract/network';
import { mountsInUse } from '@toolhive/contract/mounts-in-use';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import type { Page } from '../../out.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { describeNetwork, showPermissions } from './permissions.ts';

/** Starts learning mode, shows and applies the result, or ends learning mode without a change. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [name = ''],
    flags,
    out,
    client,
    signal,
  } = call;
  const [stops, discards] = [flags.has('stop'), flags.has('discard')];
  if (flags.has('for') && (stops || discards)) {
    throw invalid('--for is only for the start of learning mode', { hint: `thv learn ${name} --for 1h` });
  }
  if (flags.has('keep-mounts') && !stops) {
    throw invalid('--keep-mounts is only for --stop', { hint: `thv learn ${name} --stop --keep-mounts` });
  }
  if (stops && discards) {
    throw invalid('--stop and --discard cannot be used together', {
      hint: 'use only --discard to keep the previous profile',
    });
  }
  if (stops) return stop(call, name);
  const daemon = await client();
  if (discards) {
    const ended = await daemon.stopLearning({ params: { name }, body: {} }, { signal });
    return out.result(ended, (page) => {
      page.line(`${name} is no longer in learning mode.`);
      showPermissions(page, ended.permissions);
    });
  }
  const seconds = secondsOf(flags.milliseconds('for'));
  const query = seconds === undefined ? {} : { seconds };
  const started = await daemon.startLearning({ params: { name }, query }, { signal });
  out.result(started, (page) => {
    page.line(`${name} has been in learning mode since ${started.since} and can reach every public host.`);
    if (started.until !== undefined)
      page.line(`Learning mode ends at ${started.until}. Until you apply its record, nothing else changes.`);
    page.line(`Use the server, and then run: thv learn ${name} --stop`);
  });
}

const weekMs = 168 * 3_600_000;

function secondsOf(ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined;
  if (ms >= 1_000 && ms <= weekMs) return Math.round(ms / 1_000);
  throw invalid('--for must be between 1s and 168h', { hint: 'omit --for to learn until --stop' });
}

/** Shows the generated profile, and applies exactly the shown profile. */
async function stop({ flags, out, client, signal }: CommandCall, name: string): Promise<void> {
  const daemon = await client();
  const proposal = await daemon.getLearning({ params: { name } }, { signal });
  const isJson = flags.text('format') === 'json';
  const isConfirmed = flags.has('yes');
  if (isJson && !isConfirmed) return out.result({ ...proposal, applied: false }, '');
  if (!isJson) {
    out.result(proposal, (page) => {
      showProposal(page, proposal, name);
      if (!flags.has('keep-mounts')) showMounts(page, proposal.mounts);
    });
  }
  if (!isConfirmed && !canAsk()) {
    throw invalid(`the profile was not applied, and ${name} is still in learning mode`, {
      hint: `to apply the profile: thv learn ${name} --stop --yes. To end learning mode without it: thv learn ${name} --discard`,
    });
  }
  if (!isConfirmed) await confirm(`Apply this profile to ${name}?`, { signal });
  const mounts = flags.has('keep-mounts') ? undefined : mountsInUse(proposal.mounts);
  const body = { network: proposal.network, ...(mounts === undefined ? {} : { mounts }) };
  const { permissions, restarted } = await daemon.stopLearning({ params: { name }, body }, { signal });
  if (isJson) return out.result({ ...proposal, applied: true, permissions, restarted }, '');
  out.note(`${name} is no longer in learning mode and uses this profile.`);
  if (restarted) out.note(`${name} was restarted, because its network or its mounts have changed.`);
}

function showProposal(page: Page, proposal: LearningProposal, name: string): void {
  const { since, network, compared_with: compared, hosts, ports, complete } = proposal;
  const { registry_entry: entry } = compared;
  if (network.hosts.length === 0) {
    page.line(
      `${name} has not connected to any host since ${since}. It needs no network access: use the profile none.`,
    );
  } else {
    page.line(`Hosts and ports that ${name} has reached since ${since}:`);
    page.line(`  hosts: ${printable(network.hosts.join(', '))}`);
    page.line(`  ports: ${network.ports.join(', ')}`);
  }
  const origin = entry === undefined ? 'the current profile' : `the registry entry ${printable(entry)}`;
  page.line(`Compared with ${origin} (${printable(describeNetwork(compared.network))}):`);
  const lines = [...linesOf('host', hosts), ...linesOf('port', ports)];
  for (const line of lines) page.line(`  ${line}`);
  if (lines.length === 0) page.line('  no difference in hosts and ports');
  if (!complete) {
    page.line(
      'The record is full, so hosts may be missing. Use `thv network NAME --denied` afterwards to find them.',
    );
  }
}

function showMounts(page: Page, mounts: readonly LearnedMount[]): void {
  if (mounts.length === 0) return;
  page.line('Mounts:');
  for (const mount of mounts) page.line(`  ${printable(describeMount(mount))}`);
}

const shownFiles = 5;

function describeMount({ target, granted, used, files, unknown }: LearnedMount): string {
  const name = `mount ${target} (${granted === 'read' ? 'read-only' : 'read and write'})`;
  if (unknown !== undefined) return `= ${name}: ${unknown}`;
  if (used === 'none') return `- ${name}: not used`;
  const more = files.length > shownFiles ? ', …' : '';
  const where = files.length === 0 ? '' : `: ${files.slice(0, shownFiles).join(', ')}${more}`;
  if (used === granted) return `= ${name}${where}`;
  return `~ ${name}: only read, and read-only from now on${where}`;
}

function linesOf(
  what: string,
  { added, removed, kept }: Record<'added' | 'removed' | 'kept', readonly (string | number)[]>,
): string[] {
  const signed = { '+': added, '-': removed, '=': kept };
  return Object.entries(signed).flatMap(([sign, items]) =>
    items.map((item) => `${sign} ${what} ${printable(String(item))}`),
  );
}
