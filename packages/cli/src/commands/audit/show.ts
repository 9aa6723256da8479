import type { AuditRecord, NumberedAuditRecord } from '@toolhive/contract/audit';
import { invalid } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import { partFrom } from '../../part-flags.ts';
import { oneLine } from '../../out.ts';
import type { Page } from '../../out.ts';
import type { Colour } from '../../standard-streams.ts';

/** Shows the newest audit records, and continues with further ones if asked to. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const isFollowing = flags.has('follow');
  const { until, ...part } = partFrom(flags, ['until']);
  const filters = {
    workload: flags.text('workload'),
    type: flags.text('type'),
    outcome: flags.text('outcome') as AuditRecord['outcome'] | undefined, // one of the choices
    user: flags.text('user'),
    ...part,
  };
  const query = {
    ...filters,
    until,
    limit: limitFrom(flags.number('limit') ?? 100),
  };
  const daemon = await client();
  const { records } = await daemon.listAudit({ query }, { signal });
  if (!isFollowing) return out.result(records, (page) => show(page, records));
  const shown = (numbered: NumberedAuditRecord): void =>
    out.record(numbered, (page) => page.line(describe(page, numbered.record)));
  for (const numbered of records) shown(numbered);
  try {
    const headers = { 'last-event-id': String(records.at(-1)?.id ?? 0) };
    const events = await daemon.watchAudit({ query: filters, headers }, { signal });
    for await (const { event } of events) shown({ id: event.id, record: event.record });
  } catch (error) {
    if (!signal.aborted) throw error; // Ctrl-C is how following ends
  }
}

const maxLimit = 1000;

function limitFrom(limit: number): number {
  if (limit >= 1 && limit <= maxLimit) return limit;
  throw invalid(`--limit must be from 1 to ${maxLimit}`);
}

function show(page: Page, records: readonly NumberedAuditRecord[]): void {
  if (records.length === 0) return page.line('No audit records match.');
  page.table(
    ['TIME', 'OUTCOME', 'TYPE', 'WORKLOAD', 'USER', 'TARGET', 'REASON'],
    records.map(({ record }) => [
      record.logged_at,
      page.paint(colours[record.outcome], record.outcome),
      printable(record.type),
      printable(record.workload ?? ''),
      oneLine(record.subjects['user'] ?? '', 40),
      oneLine(targetOf(record), 80),
      oneLine(reasonOf(record), 120),
    ]),
  );
}

function describe(page: Page, record: AuditRecord): string {
  const { logged_at: at, outcome, type, workload, subjects } = record;
  const about = [type, workload, subjects['user'], targetOf(record), reasonOf(record)];
  const words = about.filter((word) => word !== undefined && word !== '').join('  ');
  return `${printable(at)}  ${page.paint(colours[outcome], outcome)}  ${oneLine(words)}`;
}

const colours: Record<AuditRecord['outcome'], Colour> = {
  success: 'green',
  failure: 'yellow',
  denied: 'red',
  error: 'red',
};

function targetOf({ target = {} }: AuditRecord): string {
  const { method = '', name = '', endpoint = '' } = target;
  return name === '' ? `${method} ${endpoint}`.trim() : `${method} ${name}`.trim();
}

function reasonOf({ metadata }: AuditRecord): string {
  const reason = metadata?.extra['reason'];
  return typeof reason === 'string' ? reason : '';
}
