import type { NetworkDecision } from '@toolhive/contract/network';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import { isPart, partFrom } from '../../part-flags.ts';
import type { Page } from '../../out.ts';

/** Shows the decisions about a server's connections, and optionally follows new ones. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const isFollowing = flags.has('follow');
  const verdict = flags.has('denied') ? ('denied' as const) : undefined;
  const part = partFrom(flags, ['search', 'since', 'until']);
  const daemon = await client();
  const call = { params: { name }, query: { verdict } };
  if (!isFollowing) {
    const query = { verdict, ...part };
    const { decisions } = await daemon.listNetworkDecisions({ params: { name }, query }, { signal });
    if (isPart(part) && decisions.length === 0)
      return out.result(decisions, (page) => page.line('No decisions match.'));
    return out.result(decisions, (page) => show(page, decisions, name));
  }
  try {
    const events = await daemon.watchNetworkDecisions(call, { signal });
    for await (const { event } of events) {
      out.record(event.decision, (page) => page.line(describe(page, event.decision)));
    }
  } catch (error) {
    if (!signal.aborted) throw error; // Ctrl-C is how following ends
  }
}

function show(page: Page, decisions: readonly NetworkDecision[], name: string): void {
  if (decisions.length === 0) {
    return page.line(`No connection attempts of ${name} are recorded.`);
  }
  page.table(
    ['HOST', 'VERDICT', 'COUNT', 'LAST', 'WHY'],
    decisions.map((decision) => [
      placeOf(decision),
      painted(page, decision),
      String(decision.count),
      decision.last_at,
      whyOf(decision),
    ]),
  );
  const fixes = new Set(decisions.flatMap(({ fix }) => fix ?? []));
  for (const fix of fixes) page.line(`To allow it: ${printable(fix)}`);
}

function describe(page: Page, decision: NetworkDecision): string {
  const fix = decision.fix === undefined ? '' : `; to allow it: ${decision.fix}`;
  return (
    printable(`${decision.last_at} `) +
    painted(page, decision) +
    printable(` ${placeOf(decision)} (${whyOf(decision)}${fix})`)
  );
}

function painted(page: Page, { verdict }: NetworkDecision): string {
  return page.paint(verdict === 'denied' ? 'red' : 'green', verdict);
}

const placeOf = ({ host, port }: NetworkDecision): string =>
  printable(port === undefined ? host : host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

const whyOf = ({ rule, reason }: NetworkDecision): string => printable(rule ?? reason ?? '');
