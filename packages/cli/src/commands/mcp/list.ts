import { throughProxy } from './through-proxy.ts';
import { timedOut } from '@toolhive/contract/failure';
import { McpClient } from '@toolhive/proxy/client';
import type { ListName } from '@toolhive/proxy/client';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import type { Page } from '../../out.ts';
import { version } from '../../version.ts';
import { withinLimit } from '../../wait.ts';
import { endpointOf } from '../endpoint.ts';
import { offers } from './mcp.ts';
import type { Offer } from './mcp.ts';

type Listed = Record<string, unknown>;

/** Lists everything that a server offers. */
export function run(call: CommandCall): Promise<void> {
  const [wanted] = call.arguments;
  return listOffers(
    call,
    offers.filter((offer) => wanted === undefined || offer === wanted),
  );
}

/** Lists one kind of item that a server offers. */
export async function listOffers(call: CommandCall, wanted: readonly Offer[]): Promise<void> {
  const { flags, out } = call;
  const timeoutMs = flags.milliseconds('timeout') ?? 0;
  const lists = await withinLimit(
    timeoutMs,
    call.signal,
    (signal) => ask({ ...call, signal }, wanted),
    (cause) =>
      timedOut(`${flags.text('server')} did not answer within ${timeoutMs / 1000} seconds`, {
        hint: 'increase --timeout, or try another --transport',
        cause,
      }),
  );
  out.result(Object.fromEntries(lists), (page) => {
    // Few servers have skills, so an empty list of them says nothing.
    const shown = wanted.filter(
      (offer) => offer !== 'skills' || wanted.length === 1 || lists.get('skills')?.length !== 0,
    );
    for (const [index, offer] of shown.entries()) {
      if (index > 0) page.line('');
      sections[offer](page, (name) => lists.get(name) ?? []);
    }
  });
}

async function ask(call: CommandCall, wanted: readonly Offer[]): Promise<Map<ListName, Listed[]>> {
  const { flags, signal } = call;
  const transport = flags.text('transport') as 'auto' | 'sse' | 'streamable-http'; // its choices were checked
  const url = await endpointOf(flags.text('server') ?? '', call, transport === 'sse' ? '/sse' : '/mcp');
  await using client = await McpClient.connect({ url, transport, open: throughProxy, version, signal });
  const lists = new Map<ListName, Listed[]>();
  // One after the other: not every server can do two things at once.
  for (const name of wanted.flatMap((offer) => listsOf[offer]))
    lists.set(name, await client.list(name, signal));
  return lists;
}

/** A template of resources is one of the resources that a server has. */
const listsOf: Record<Offer, readonly ListName[]> = {
  tools: ['tools'],
  resources: ['resources', 'resourceTemplates'],
  prompts: ['prompts'],
  skills: ['skills'],
};

type Lists = (name: ListName) => Listed[];

const sections: Record<Offer, (page: Page, lists: Lists) => void> = {
  tools(page, lists) {
    const rows = lists('tools').map(({ name, description }) => [cell(name), cell(description)]);
    section(page, 'Tools', ['NAME', 'DESCRIPTION'], rows);
  },
  resources(page, lists) {
    const all = [...lists('resources'), ...lists('resourceTemplates')];
    const rows = all.map(({ name, uri, uriTemplate, description, mimeType }) =>
      [name, uri ?? uriTemplate, description, mimeType].map(cell),
    );
    section(page, 'Resources', ['NAME', 'URI', 'DESCRIPTION', 'MIME_TYPE'], rows);
  },
  prompts(page, lists) {
    const rows = lists('prompts').map(({ name, description, arguments: taken }) => [
      cell(name),
      cell(description),
      argumentsIn(taken),
    ]);
    section(page, 'Prompts', ['NAME', 'DESCRIPTION', 'ARGUMENTS'], rows);
  },
  skills(page, lists) {
    const rows = lists('skills').map(({ uri, frontmatter }) => {
      const { name, description } = (frontmatter ?? {}) as Listed;
      return [name, uri, description].map(cell);
    });
    section(page, 'Skills', ['NAME', 'URI', 'DESCRIPTION'], rows);
  },
};

function section(page: Page, title: string, header: readonly string[], rows: readonly string[][]): void {
  page.line(page.paint('bold', rows.length === 0 ? `${title}: none` : title));
  if (rows.length > 0) page.table(header, rows);
}

/** How many, and their names. */
function argumentsIn(taken: unknown): string {
  const names = (Array.isArray(taken) ? taken : []).map((argument: { name?: unknown } | null) =>
    cell(argument?.name),
  );
  return names.length === 0 ? '0' : `${names.length} (${names.join(', ')})`;
}

/** A table has one line per item. The JSON contains the complete text. */
const widestCell = 100;

/** What a server says, fit for a table. */
function cell(said: unknown): string {
  return oneLine(typeof said === 'string' ? said : '', widestCell);
}
