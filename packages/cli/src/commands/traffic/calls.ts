import { invalid } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { TrafficEntry } from '@toolhive/contract/traffic';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { timeFrom } from '../../time-flag.ts';
import type { Page } from '../../out.ts';
import type { Colour } from '../../standard-streams.ts';

/** Shows the latest calls to a workload, and continues with further ones if asked to. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const filters = {
    outcome: flags.text('outcome') as TrafficEntry['outcome'] | undefined, // one of the choices
    item: flags.text('item'),
    client: flags.text('client'),
    search: flags.text('search'),
    ...(flags.has('own-reads') ? { own_reads: 'true' } : {}),
  };
  const isFollowing = flags.has('follow');
  if (isFollowing && flags.isGiven('until'))
    throw invalid('--follow and --until cannot be used together', { hint: 'omit one of them' });
  const since = timeFrom(flags.text('since'), 'since');
  const until = timeFrom(flags.text('until'), 'until');
  const limit = flags.number('limit') ?? 100;
  if (limit < 1 || limit > 1000) throw invalid('--limit must be from 1 to 1000');
  const daemon = await client();
  const params = { name };
  const query = { ...filters, since, until, limit };
  if (!isFollowing) {
    const { entries, is_read } = await daemon.listTraffic({ params, query }, { signal });
    return out.result(entries, (page) => show(page, entries, { name, isRead: is_read }));
  }
  const shown = (entry: TrafficEntry): void => out.record(entry, (page) => page.line(describe(page, entry)));
  try {
    // Watched first, so that no call is missed in between.
    const events = await daemon.watchTraffic({ params, query: filters, headers: {} }, { signal });
    const { entries } = await daemon.listTraffic({ params, query }, { signal });
    for (const entry of entries) shown(entry);
    const last = entries.at(-1)?.id ?? 0;
    for await (const { event } of events) {
      if (event.type === 'entry' && event.entry.id > last) shown(event.entry);
      if (event.type === 'reset') out.note('some calls are missing here');
    }
  } catch (error) {
    if (!signal.aborted) throw error; // Ctrl-C is how following ends
  }
}

function show(
  page: Page,
  entries: readonly TrafficEntry[],
  { name, isRead }: { name: string; isRead: boolean },
): void {
  if (entries.length === 0) return page.line(`No calls to ${name} match.`);
  page.table(
    ['TIME', 'CLIENT', 'METHOD', 'ITEM', 'MS', 'BYTES', 'OUTCOME', 'REASON'],
    entries.map((entry) => [
      entry.at,
      oneLine(clientOf(entry), 30),
      oneLine(entry.method, 40),
      oneLine(entry.name ?? '', 60),
      entry.duration_ms === undefined ? '' : String(Math.round(entry.duration_ms)),
      bytesOf(entry),
      page.paint(colours[entry.outcome], entry.outcome),
      oneLine(entry.reason ?? '', 80),
    ]),
  );
  if (!isRead)
    page.line('ToolHive does not read the messages of this workload and knows only the HTTP headers.');
}

function describe(page: Page, entry: TrafficEntry): string {
  const ms = entry.duration_ms === undefined ? undefined : `${Math.round(entry.duration_ms)} ms`;
  const words = [clientOf(entry), entry.method, entry.name, ms, entry.reason].filter(Boolean).join('  ');
  return `${printable(entry.at)}  ${page.paint(colours[entry.outcome], entry.outcome)}  ${oneLine(words)}`;
}

const colours: Record<TrafficEntry['outcome'], Colour> = {
  ok: 'green',
  error: 'red',
  denied: 'red',
  cancelled: 'yellow',
};

function clientOf({ client, source, direction }: TrafficEntry): string {
  if (direction === 'to-client') return 'server';
  const name = client?.name ?? '';
  return source === 'ui' ? `${name} (ui)`.trim() : name;
}

function bytesOf({ request_bytes: sent, response_bytes: received }: TrafficEntry): string {
  return [sent, received].map((bytes) => (bytes === undefined ? '' : String(bytes))).join('/');
}
