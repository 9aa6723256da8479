import type { Client } from '@toolhive/contract/client';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { printable as harmless } from '@toolhive/contract/printable';
import type {
  PlannedProjectServer,
  ProjectPlan,
  ProjectRequest,
  ProjectResult,
} from '@toolhive/contract/project';
import type { Risk } from '@toolhive/contract/risk';
import { riskNames } from '@toolhive/contract/risk';
import type { CommandCall } from '../../command.ts';
import type { Page } from '../../out.ts';
import { ask, canAsk, confirm } from '../../prompt.ts';
import { showPermissions } from '../network/permissions.ts';
import { findProvider, setUpForFirst } from '../secrets/setup.ts';
import { readAssignments } from '../workloads/assignments.ts';
import { writeOwnFile } from '../workloads/own-file.ts';
import {
  findProjectFile,
  isFileWord,
  lockPathOf,
  projectPath,
  readLock,
  readProject,
  variablesIn,
} from './files.ts';

/** Creates and updates the workloads of a project. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, client, signal } = call;
  const { path, names } = await wordsOf(call);
  const text = await readProject(path);
  const lockPath = lockPathOf(path);
  const lock = await readLock(lockPath);
  const isLocked = flags.has('locked');
  const daemon = await client();
  const asked: ProjectRequest = {
    path,
    text,
    ...(lock === undefined ? {} : { lock }),
    variables: variablesIn(text),
    inputs: readAssignments('input', flags.list('input')),
    ...(isLocked ? { locked: true } : {}),
    ...(flags.has('update') ? (names.length === 0 ? { update_all: true } : { update: names }) : {}),
    ...(flags.has('prune') ? { prune: true } : {}),
  };
  const { request, plan } = await planned(daemon, asked, call);
  refuseUnknown(names, plan);
  if (flags.has('dry-run')) {
    out.result(plan, (page) => showPlan(page, plan));
    refuseDifferences(plan);
    return;
  }
  refuseDifferences(plan);
  const isChange =
    plan.servers.some(({ action, problem }) => problem === undefined && changing.has(action)) ||
    plan.groups?.some(({ changes }) => changes.length > 0) === true;
  const accepted = isChange ? await consent(plan, call) : [];
  if (isChange && (await findProvider(daemon, signal)) === undefined && needsSecrets(plan))
    await setUpForFirst(daemon, { out, signal });
  const result = await daemon.applyProject(
    { body: { ...request, plan: plan.digest, accepted_risks: accepted } },
    { signal, onProgress: out.progress },
  );
  const written = result.lock === undefined ? undefined : await writeOwnFile(lockPath, result.lock, 0o644);
  const { lock: _text, ...rest } = result;
  out.result({ ...rest, ...(written === undefined ? {} : { lock: written }) }, (page) => {
    showResult(page, result);
    if (written !== undefined) page.line(`wrote ${harmless(written)}`);
  });
  if ([...result.servers, ...(result.groups ?? [])].some(({ problem }) => problem !== undefined))
    throw new ThvError('conflict', 'not everything in the project is as the file says');
}

const changing: ReadonlySet<string> = new Set(['create', 'update', 'remove']);

/** The first word is a file, unless it is the name of a server. */
async function wordsOf({ arguments: words, flags }: CommandCall): Promise<{ path: string; names: string[] }> {
  const [first, ...others] = words;
  const isFile = first !== undefined && (isFileWord(first) || !flags.has('update'));
  const names = isFile ? others : [...words];
  if (names.length > 0 && !flags.has('update'))
    throw invalid(`unexpected argument ${names[0]}`, { hint: 'names of servers belong to --update' });
  return { path: isFile ? await projectPath(first) : await findProjectFile(), names };
}

/** Asks for missing answers, each once. */
async function planned(
  daemon: Client,
  request: ProjectRequest,
  { out, signal }: CommandCall,
): Promise<{ request: ProjectRequest; plan: ProjectPlan }> {
  out.progress('comparing the project with its workloads');
  const plan = await daemon.planProject({ body: request }, { signal });
  if (plan.inputs.length === 0 || !canAsk()) return { request, plan };
  const answers: Record<string, string> = {};
  for (const { id, description, secret } of plan.inputs) {
    const answer = await ask(`${printable(description === '' ? id : `${description} (${id})`)}:`, {
      signal,
      hidden: secret,
    });
    if (answer === '') throw invalid(`the file asks for ${id}`);
    answers[id] = answer;
  }
  const complete = { ...request, inputs: { ...request.inputs, ...answers } };
  return { request: complete, plan: await daemon.planProject({ body: complete }, { signal }) };
}

function refuseUnknown(names: readonly string[], { servers }: ProjectPlan): void {
  const unknown = names.filter((name) => !servers.some((server) => server.name === name));
  if (unknown.length === 0) return;
  throw invalid(`the file has no server ${unknown.join(', ')}`, {
    hint: `the servers are ${servers.map(({ name }) => name).join(', ')}`,
  });
}

/** With --locked, nothing is changed if anything differs. */
function refuseDifferences({ refusals }: ProjectPlan): void {
  if (refusals.length === 0) return;
  const fixes = [...new Set(refusals.map(({ hint }) => printable(hint)))];
  throw new ThvError(
    'conflict',
    `the project differs from its lock file: ${refusals.map(({ message }) => printable(message)).join('; ')}`,
    { hint: fixes.join('; ') },
  );
}

/** Returns the dangerous access that the user accepts with the plan. */
async function consent(plan: ProjectPlan, { flags, out, signal }: CommandCall): Promise<Risk[]> {
  const all = flags.has('accept-risks') ? [...riskNames] : [];
  if (flags.has('yes')) return all;
  if (!canAsk()) {
    throw invalid('thv up changes workloads, and needs your consent', {
      hint: 'see the changes with --dry-run, and then add --yes',
    });
  }
  out.record(plan, (page) => showPlan(page, plan));
  const risks = plan.servers.flatMap(({ check }) => check?.risks.map(({ risk }) => risk) ?? []);
  await confirm(risks.length > 0 ? 'Do that, and give the dangerous access?' : 'Do that?', { signal });
  return [...new Set([...all, ...risks])];
}

const needsSecrets = ({ servers }: ProjectPlan): boolean => servers.some(({ access }) => access.length > 0);

const titles: Readonly<Record<PlannedProjectServer['action'], string>> = {
  create: 'is created',
  update: 'is updated',
  start: 'is started',
  keep: 'stays as it is',
  remove: 'is removed, with the files that it has stored',
  leave: 'is no longer in the file, and stays. To remove it, add --prune',
};

function showPlan(page: Page, plan: ProjectPlan): void {
  page.line(page.paint('bold', `Project ${printable(plan.project)}`));
  for (const server of plan.servers) showServer(page, server);
  for (const { name, changes, problem, hint } of plan.groups ?? []) {
    const title =
      problem !== undefined ? 'is not possible' : changes.length > 0 ? 'is changed' : 'stays as it is';
    page.line(`group ${printable(name)}: ${title}`);
    for (const change of changes) page.line(`  Change: ${printable(change)}`);
    if (problem !== undefined) showProblem(page, { problem, hint });
  }
  for (const { message, hint } of plan.refusals) {
    page.line(page.paint('yellow', `Refused: ${printable(message)}`));
    page.line(`  Hint: ${printable(hint)}`);
  }
  const isKept = plan.servers.every(({ action, problem }) => action === 'keep' && problem === undefined);
  if (isKept && !plan.groups?.some(({ changes, problem }) => changes.length > 0 || problem !== undefined))
    page.line('Nothing changes.');
}

function showServer(page: Page, server: PlannedProjectServer): void {
  const { name, workload, action, changes, access, check, notes, problem, hint } = server;
  const also = workload === name ? '' : ` (workload ${workload})`;
  page.line(`${printable(name)}${also}: ${problem === undefined ? titles[action] : 'is not possible'}`);
  if (problem !== undefined) showProblem(page, { problem, hint });
  for (const change of changes)
    page.line(`  ${action === 'create' ? 'With' : 'Change'}: ${printable(change)}`);
  if (check !== undefined) {
    page.line(`  Runs: ${printable(check.package)}${check.remote ? '' : ', isolated'}`);
    if (check.permissions !== undefined)
      showPermissions({ ...page, line: (text) => page.line(`  ${text}`) }, check.permissions);
    for (const { text } of check.risks) page.line(page.paint('red', `  Danger: ${printable(text)}`));
  }
  for (const each of access) page.line(page.paint('yellow', `  Gets: ${printable(each)}`));
  for (const note of [...notes, ...(check?.notes ?? [])]) page.line(`  Note: ${printable(note)}`);
}

function showProblem(page: Page, { problem, hint }: { problem: string; hint?: string | undefined }): void {
  page.line(page.paint('yellow', `  Problem: ${printable(problem)}`));
  if (hint !== undefined) page.line(`  Hint: ${printable(hint)}`);
}

const done: Readonly<Record<PlannedProjectServer['action'], string>> = {
  create: 'created',
  update: 'updated',
  start: 'started',
  keep: 'unchanged',
  remove: 'removed',
  leave: 'left',
};

function showResult(page: Page, { servers, groups = [] }: ProjectResult): void {
  for (const { name, action, url, notes, problem, hint } of servers) {
    if (problem === undefined) {
      page.line(
        `${page.paint('green', done[action])} ${printable(name)}${url === undefined ? '' : ` at ${url}`}`,
      );
      for (const note of notes) page.line(`  Note: ${printable(note)}`);
    } else {
      page.line(`${page.paint('yellow', 'refused')} ${printable(name)}: ${printable(problem)}`);
      if (hint !== undefined) page.line(`  Hint: ${printable(hint)}`);
    }
  }
  for (const { name, changed, url, problem, hint } of groups) {
    const word = problem === undefined ? (changed ? 'changed' : 'unchanged') : 'refused';
    const place = url === undefined ? '' : ` at ${url}`;
    page.line(
      `${page.paint(problem === undefined ? 'green' : 'yellow', word)} group ${printable(name)}${place}`,
    );
    if (problem !== undefined) showProblem(page, { problem, hint });
  }
  const isKept = servers.every(({ action, problem }) => action === 'keep' && problem === undefined);
  if (isKept && !groups.some(({ changed, problem }) => changed || problem !== undefined))
    page.line('Nothing has changed.');
}

/** Text of a file, in one line. */
const printable = (text: string): string => harmless(text.replaceAll(/\s+/g, ' '));
