import { escaped } from '@toolhive/contract/printable';
import type { PinFinding, PinnedItem } from '@toolhive/contract/tool-pins';
import { oneLine } from '../../out.ts';
import type { Page } from '../../out.ts';
import type { Colour } from '../../standard-streams.ts';

/** Prints the changes to one item, and its suspicious features. */
export function showChange(page: Page, item: PinnedItem): void {
  const { state, pending_since: since = '', changed_members: members = [], diff, findings } = item;
  const what = members.length === 0 ? '' : ` (${oneLine(members.join(', '))})`;
  page.line(page.paint('bold', `${titleOf(item)}: ${state}${what} since ${since}`));
  // The server has written this: lines are cut, and characters that cannot be seen are escaped.
  for (const line of diff?.trimEnd().split('\n') ?? ['the texts are too long to be compared'])
    page.line(`  ${page.paint(colourOf(line), escaped(line))}`);
  for (const finding of findings) page.line(`  ${describeFinding(page, finding)}`);
  page.line('');
}

/** Writes a line for each item. */
export function showItems(page: Page, items: readonly PinnedItem[], name: string): void {
  if (items.length === 0) {
    return page.line(
      `No tools of ${name} are recorded yet. ToolHive records them when a client first lists them.`,
    );
  }
  page.table(
    ['KIND', 'NAME', 'STATE', 'APPROVED', 'FINDINGS'],
    items.map(({ kind, name: item, state, approved_at: at = '', findings }) => [
      kind,
      oneLine(item, widestName),
      page.paint(colours[state], state),
      at,
      findings.map(({ rule, severity }) => `${rule} (${severity})`).join(', '),
    ]),
  );
}

const widestName = 60;

const colours: Record<PinnedItem['state'], Colour> = {
  approved: 'green',
  changed: 'red',
  new: 'yellow',
  removed: 'dim',
};

function titleOf({ kind, name }: PinnedItem): string {
  return kind === 'instructions' ? kind : `${kind} ${oneLine(name, widestName)}`;
}

function colourOf(line: string): Colour {
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
}

function describeFinding(page: Page, { rule, severity, message, excerpt }: PinFinding): string {
  const found = excerpt === undefined ? '' : `: ${oneLine(excerpt)}`;
  return `${page.paint(severity === 'low' ? 'dim' : 'yellow', severity)} ${oneLine(message)}${found} [${rule}]`;
}
