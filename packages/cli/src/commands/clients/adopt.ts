import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { AdoptedServer, AdoptionPlan, PlannedServer } from '@toolhive/contract/adoption';
import type { Client } from '@toolhive/contract/client';
import { ClientName, clientApplications } from '@toolhive/contract/client-application';
import { ThvError, invalid, notFound } from '@toolhive/contract/failure';
import { printable as harmless } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import type { Out, Page } from '../../out.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { localPortsFrom } from '../port.ts';
import { showPermissions } from '../network/permissions.ts';
import { findProvider, setUpForFirst } from '../secrets/setup.ts';

/** Takes over the servers that clients run themselves, or gives them back. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: words, flags, out, client, signal } = call;
  const modes = ['dry-run', 'undo', 'list'].filter((flag) => flags.has(flag));
  if (modes.length > 1) throw invalid(`--${modes.join(' and --')} cannot be used together`);
  if (flags.has('whole-files') && !flags.has('undo')) throw invalid('--whole-files requires --undo');
  const daemon = await client();
  if (flags.has('list')) return list(daemon, out, signal);
  const clients = words.length === 0 ? undefined : words.map(clientOf);
  if (flags.has('undo')) return undo(daemon, { ...call, clients });

  const scope = {
    ...(clients === undefined ? {} : { clients }),
    projects: projectsOf(flags.list('project')),
    search_path: process.env['PATH'] ?? '',
    local_ports: localPortsFrom(flags.list('allow-local-port'), 'allow-local-port'),
  };
  out.progress('looking for servers in the configuration of all clients');
  const plan = await daemon.planAdoption({ body: scope }, { signal });
  const possible = plan.servers.filter(({ problem }) => problem === undefined);
  if (flags.has('dry-run')) {
    out.result(plan, (page) => {
      showPlan(page, plan);
      for (const { path, diff } of plan.files) {
        page.line('');
        page.line(printable(path));
        for (const line of diff.split('\n')) page.line(harmless(line));
      }
    });
    return;
  }
  if (possible.length === 0) {
    out.result({ servers: plan.servers }, (page) => showPlan(page, plan));
    return;
  }
  if (!flags.has('yes')) {
    if (!canAsk())
      throw invalid('adoption changes files, and there is no terminal to ask you', {
        hint: 'see the changes with --dry-run, and then add --yes',
      });
    out.record(plan, (page) => showPlan(page, plan));
    await confirm(`Adopt ${countOf(possible.length, 'server')}?`, { signal });
  }
  if ((await findProvider(daemon, signal)) === undefined) await setUpForFirst(daemon, { out, signal });
  const { servers } = await daemon.adoptServers(
    { body: { ...scope, workloads: possible.map(({ workload }) => workload) } },
    { signal, onProgress: out.progress },
  );
  out.result({ servers }, (page) => showResult(page, servers));
  for (const note of notesFor(servers)) out.note(note);
  if (servers.some(({ problem }) => problem !== undefined))
    throw new ThvError('conflict', 'not all servers were adopted');
}

async function undo(
  daemon: Client,
  { clients, flags, out, signal }: CommandCall & { clients: ClientName[] | undefined },
): Promise<void> {
  const { adoptions } = await daemon.listAdoptions({}, { signal });
  const files = new Set(
    adoptions.filter(({ client_type: type }) => clients?.includes(type) !== false).map(({ path }) => path),
  );
  if (files.size === 0) {
    out.result({ files: [], stopped: [] }, 'There is nothing to undo.');
    return;
  }
  if (!flags.has('yes')) await confirm(`Restore ${[...files].map(printable).join(', ')}?`, { signal });
  const undone = await daemon.undoAdoption(
    {
      body: {
        ...(clients === undefined ? {} : { clients }),
        ...(flags.has('whole-files') ? { whole_files: true } : {}),
      },
    },
    { signal, onProgress: out.progress },
  );
  out.result(undone, (page) => {
    for (const { path, restored, problem, hint } of undone.files) {
      page.line(`${printable(path)}: ${printable(problem ?? restoredText[restored])}`);
      if (hint !== undefined) page.line(`  hint: ${printable(hint)}`);
    }
    for (const name of undone.stopped)
      page.line(`${name} is stopped and keeps its data. To remove the workload, run thv rm ${name}`);
  });
  if (undone.files.some(({ problem }) => problem !== undefined))
    throw new ThvError('conflict', 'not all files were restored');
}

const restoredText = {
  file: 'restored, every byte as before',
  entries: 'entries restored, and the other changes since then kept',
  nothing: 'not changed, because its entries no longer lead to the workloads',
} as const;

async function list(daemon: Client, out: Out, signal: AbortSignal): Promise<void> {
  const found = await daemon.listAdoptions({}, { signal });
  out.result(found, (page) => {
    if (found.adoptions.length === 0) return page.line('No server is adopted.');
    page.table(
      ['CLIENT TYPE', 'NAME', 'WORKLOAD', 'FILE', 'ADOPTED', 'BACKUP (ENCRYPTED)'],
      found.adoptions.map(({ client_type: type, name, workload, path, adopted_at: at, backup }) =>
        [type, name, workload, path, at, backup].map(printable),
      ),
    );
  });
}

function showPlan(page: Page, { servers, problems }: AdoptionPlan): void {
  if (servers.length === 0) page.line('No client runs a server without ToolHive.');
  for (const server of servers) showServer(page, server);
  for (const { client_type: type, path, problem } of problems)
    page.line(`${type}: ${printable(path)} cannot be read: ${printable(problem)}`);
}

function showServer(page: Page, server: PlannedServer): void {
  const { workload, exists, places, command, url, check, credentials, notes, problem, hint } = server;
  const from = places.map(({ client_type: type, scope, path, name }) =>
    printable(scope === 'user' ? `${type} (${name})` : `${type} (${name}, ${path})`),
  );
  page.line(page.paint('bold', workload));
  page.line(`  In: ${from.join(', ')}`);
  page.line(`  Now: ${printable(command?.join(' ') ?? url ?? '')}`);
  if (problem !== undefined) {
    page.line(page.paint('yellow', `  Stays as it is: ${printable(problem)}`));
    if (hint !== undefined) page.line(`  Hint: ${printable(hint)}`);
    return;
  }
  if (exists) page.line(`  Then: the existing workload ${workload}`);
  if (check !== undefined) {
    page.line(`  Then: ${printable(check.package)}${check.remote ? '' : ', isolated'}`);
    if (check.permissions !== undefined) {
      const { permissions } = check;
      showPermissions({ ...page, line: (text) => page.line(`  ${text}`) }, permissions);
    }
  }
  if (credentials.length > 0) page.line(`  Moves to the secrets: ${printable(credentials.join(', '))}`);
  for (const note of [...notes, ...(check?.notes ?? [])]) page.line(`  Note: ${printable(note)}`);
}

function showResult(page: Page, servers: readonly AdoptedServer[]): void {
  for (const { workload, places, notes, problem, hint } of servers) {
    if (problem === undefined) {
      const from = [...new Set(places.map(({ client_type: type }) => type))].join(', ');
      page.line(`${page.paint('green', 'adopted')} ${workload}, used by ${from}`);
      for (const note of notes) page.line(`  ${printable(note)}`);
    } else {
      page.line(`${page.paint('yellow', 'not adopted')} ${workload}: ${printable(problem)}`);
      if (hint !== undefined) page.line(`  hint: ${printable(hint)}`);
    }
  }
}

/** The next steps of users, in each client that has changed. */
function notesFor(servers: readonly AdoptedServer[]): string[] {
  const places = servers.flatMap(({ places: all, problem }) => (problem === undefined ? all : []));
  if (places.length === 0) return [];
  const isIn = (id: ClientName, scope?: string): boolean =>
    places.some((place) => place.client_type === id && (scope === undefined || place.scope === scope));
  const changed = clientApplications.filter(({ id }) => isIn(id));
  const guided = changed.flatMap(({ id, guide }) => {
    if (guide === undefined) return [];
    const { name, apply, note, projectNote } = guide;
    const texts = [apply, note, isIn(id, 'project') ? projectNote : undefined].filter(Boolean);
    return [`${name}: ${texts.join(' ').replaceAll(/\*\*|`/g, '')}`];
  });
  const others = guided.length === 0 ? 'Restart your clients.' : 'Restart your other clients.';
  return [
    ...guided,
    ...(guided.length < changed.length ? [others] : []),
    'To restore the configuration of all clients, run thv adopt --undo.',
  ];
}

function clientOf(word: string): ClientName {
  const parsed = ClientName.safeParse(word);
  if (parsed.success) return parsed.data;
  throw notFound(`client ${printable(word)} not found`, { hint: 'see the clients with thv client status' });
}

/** The named projects, or the one in the current directory. The files in the home directory belong to all projects. */
function projectsOf(named: readonly string[]): string[] {
  const directories = named.length > 0 ? named.map((path) => resolve(path)) : [process.cwd()];
  return directories.filter((directory) => directory !== homedir());
}

/** Text of a file, in one line. */
const printable = (text: string): string => harmless(text.replaceAll(/\s+/g, ' '));

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
