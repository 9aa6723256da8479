import { ThvError, invalid } from '@toolhive/contract/failure';
import { GroupName } from '@toolhive/contract/names';
import type { ExportedBundle } from '@toolhive/contract/bundle';
import { connectorTo } from './bundle-export.ts';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { WorkloadSelection, WorkloadStatus } from '@toolhive/contract/workload';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import type { StateWing } from '../wings/state.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { LogKind, LogWindow } from '@toolhive/state/logs';
import { manifestOf } from './manifest.ts';
import type { Manifest } from './manifest.ts';

export { execWorkload, sendExecInput } from './exec.ts';

/** An accepted operation that continues. `follow` passes on its progress and throws if it fails. */
export interface Accepted {
  follow: (report: Progress, signal: AbortSignal) => Promise<void>;
}

/** Stops a workload. Accepted when the intent is on disk. */
export function stopWorkload(core: StateWing & WorkloadsWing, name: string): Promise<Accepted> {
  const supervisor = core.workloads.require(name);
  return begin(core, name, `stopping ${name}`, (accepted, report) => supervisor.stop(accepted, report));
}

/** Starts a workload unless it already runs. */
export async function startWorkload(core: WorkloadsWing, name: string): Promise<Accepted> {
  const supervisor = core.workloads.require(name);
  await core.mounts.renew(supervisor.id);
  await supervisor.start();
  return { follow: (report, signal) => supervisor.follow(report, signal) };
}

/** Stops a workload if it runs, and starts it with its current secrets. Accepted when the intent is on disk. */
export async function restartWorkload(core: WorkloadsWing, name: string): Promise<Accepted> {
  const supervisor = core.workloads.require(name);
  await core.mounts.renew(supervisor.id);
  await supervisor.restart();
  return { follow: (report, signal) => supervisor.follow(report, signal) };
}

/** Stops a workload and removes all of its files. Accepted when the intent is on disk. */
export function deleteWorkload(core: StateWing & WorkloadsWing, name: string): Promise<Accepted> {
  return begin(core, name, `removing ${name}`, (accepted, report) =>
    core.workloads.remove(name, accepted, report),
  );
}

/** Does the same to several workloads at once. Nothing is done when one of the names is wrong. */
export async function operateOnMany(
  core: Core,
  selection: WorkloadSelection,
  operate: (core: Core, name: string) => Promise<Accepted>,
): Promise<Accepted> {
  const names = selectedNames(core, selection);
  const begun = await Promise.all(
    // A workload that is gone meets every intent, or was removed by another caller.
    names.map((name) => operate(core, name).catch(unlessGone)),
  );
  return {
    async follow(report, signal) {
      await Promise.all(begun.map(async (accepted) => accepted?.follow(report, signal)));
    },
  };
}

function unlessGone(error: unknown): undefined {
  if (error instanceof ThvError && error.kind === 'not-found') return undefined;
  throw error;
}

function selectedNames(core: WorkloadsWing, { names, group }: WorkloadSelection): string[] {
  const isByName = names !== undefined && names !== null && names.length > 0;
  if (isByName && group) {
    throw invalid('names and group cannot be used together', { hint: 'specify only one of them' });
  }
  if (isByName) {
    for (const name of names) core.workloads.require(name);
    return [...new Set(names)];
  }
  if (!group) throw invalid('no workloads are selected', { hint: 'specify names or a group' });
  core.groups.require(GroupName.parse(group));
  return core.workloads.inGroup(group);
}

export function statusOf(
  core: WorkloadsWing,
  name: string,
): { status: WorkloadStatus; status_context?: string } {
  const { status, context } = core.workloads.require(name).condition;
  return { status, ...(context === undefined ? {} : { status_context: context }) };
}

/** The complete run config of a workload, with secrets as references only. */
export function exportWorkload(core: WorkloadsWing, name: string): RunConfig {
  return core.workloads.require(name).runConfig;
}

/** Exports a bundle that connects to a workload. */
export function exportBundle(core: WorkloadsWing, name: string): ExportedBundle {
  return connectorTo(core.workloads.require(name).runConfig);
}

/** The same as a Kubernetes manifest. */
export function exportManifest(core: WorkloadsWing, name: string): Manifest {
  return manifestOf(core.workloads.require(name).runConfig);
}

interface LogRequest {
  tail: number;
  /** Replaces `tail`. */
  limit?: number | undefined;
  before?: number | undefined;
  since?: string | undefined;
  until?: string | undefined;
  search?: string | undefined;
  follow?: boolean | undefined;
}

/** The last lines of a workload's log. With `follow`, also all new lines. */
export async function logsOf(
  core: StateWing & WorkloadsWing,
  name: string,
  kind: LogKind,
  request: LogRequest,
  signal: AbortSignal,
): Promise<string | AsyncIterable<string>> {
  core.workloads.require(name);
  const window = windowOf(request);
  return request.follow === true
    ? core.logs.follow(name, kind, window, signal)
    : core.logs.read(name, kind, window);
}

/** The same as JSON, one object in each line. */
export async function logRecordsOf(
  core: StateWing & WorkloadsWing,
  name: string,
  kind: LogKind,
  request: LogRequest,
  signal: AbortSignal,
): Promise<string | AsyncIterable<string>> {
  const { transport } = core.workloads.require(name).runConfig;
  const window = windowOf(request);
  const isHttp = transport === 'sse' || transport === 'streamable-http';
  if (request.follow === true)
    return asLines(core.logs.followRecords(name, kind, window, { isHttp, signal }));
  const records = await core.logs.records(name, kind, window, { isHttp });
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function windowOf({ tail, limit, before, since, until, search, follow }: LogRequest): LogWindow {
  if (follow === true && (until !== undefined || search !== undefined))
    throw invalid('follow cannot be combined with until or search');
  const date = (time: string | undefined): Date | undefined =>
    time === undefined ? undefined : new Date(time);
  return { lines: limit ?? tail, before, since: date(since), until: date(until), search };
}

async function* asLines(records: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

/** Removes the logs of removed workloads. */
export async function pruneLogs({
  logs,
  workloads,
}: StateWing & WorkloadsWing): Promise<{ removed: string[] }> {
  const names = [
    ...workloads.all().map(({ runConfig }) => runConfig.name),
    ...workloads.setAside.map(({ name }) => name),
  ];
  return { removed: await logs.prune(names) };
}

/**
 * Starts `work` and returns as soon as it reports acceptance, or throws its earlier error. The caller that follows it gets
 * everything that it reports.
 */
async function begin(
  core: StateWing,
  name: string,
  what: string,
  work: (accepted: () => void, report: Progress) => Promise<void>,
): Promise<Accepted> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isAccepted = false;
  const reported: string[] = [];
  const followers = new Set<Progress>();
  const ended = work(
    () => {
      isAccepted = true;
      resolve();
    },
    (message) => {
      reported.push(message);
      for (const report of followers) report(message);
    },
  );
  ended.catch((error: unknown) => {
    if (isAccepted) core.log.error({ workload: name, err: error }, 'an accepted operation failed');
    reject(error);
  });
  await promise;
  return {
    async follow(report) {
      report(what);
      for (const message of reported) report(message);
      followers.add(report);
      await ended.finally(() => followers.delete(report));
    },
  };
}
