import { conflict, invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { AppliedGroup, PlannedProjectGroup, ProjectGroup } from '@toolhive/contract/project';
import type { Core } from '@toolhive/core/core';
import { getWorkload } from '@toolhive/core/describe';
import { editGroup, isOfSwitch } from '@toolhive/core/groups';
import type { Call } from './apply.ts';
import { problemOf } from './problem.ts';
import type { ServerPlan } from './plan.ts';
import type { Project } from './record.ts';

/** A group of the file, with its changes. */
export interface GroupPlan {
  shown: PlannedProjectGroup;
  settings: Settings;
}

interface Settings {
  description?: string;
  endpoint: NonNullable<ProjectGroup['endpoint']>;
  tools: string[];
}

/** Compares the groups of a project file with those that exist. Changes nothing. */
export function planGroups(
  core: Core,
  groups: Readonly<Record<string, ProjectGroup>>,
  servers: readonly ServerPlan[],
): GroupPlan[] {
  return Object.entries(groups).map(([name, group]) => {
    const settings = settingsOf(group);
    try {
      const members = membersOf(name, servers);
      const named = { ...settings, tools: settings.tools.map((tool) => toolOf(tool, name, members)) };
      requireOwn(core, name, members);
      return { settings: named, shown: { name, changes: changesOf(core, name, named) } };
    } catch (thrown) {
      return { settings, shown: { name, changes: [], ...problemOf(thrown) } };
    }
  });
}

/**
 * Gives groups the settings of the file, after their servers run. A problem with one group does not affect the others. Throws
 * `conflict` for a problem with `isStrict`.
 */
export async function applyGroups(
  core: Core,
  groups: readonly GroupPlan[],
  servers: Project['servers'],
  call: Call & { isStrict: boolean },
): Promise<AppliedGroup[]> {
  const ownedIds = new Set(Object.values(servers).flatMap(({ id }) => id ?? []));
  const results: AppliedGroup[] = [];
  for (const { shown, settings } of groups) {
    const { name, changes, problem, hint } = shown;
    if (problem !== undefined) {
      results.push({ name, changed: false, problem, hint });
      continue;
    }
    try {
      if (changes.length > 0) {
        requireOnly(core, name, ownedIds);
        await editGroup(core, name, settings, {
          signal: call.signal,
          report: (message) => call.report(`${name}: ${message}`),
        });
      }
      results.push({ name, changed: changes.length > 0, url: await urlOf(core, name) });
    } catch (thrown) {
      call.signal.throwIfAborted();
      results.push({ name, changed: false, ...problemOf(thrown) });
    }
  }
  const failed = results.find(({ problem }) => problem !== undefined);
  if (failed !== undefined && call.isStrict)
    throw conflict(`group ${failed.name}: ${failed.problem}`, { hint: failed.hint });
  return results;
}

/** Adds the groups that the project sets to those that the project has set before. */
export function withNames(before: readonly string[] = [], groups: readonly GroupPlan[]): string[] {
  const named = groups.flatMap(({ shown: { name, problem } }) => (problem === undefined ? [name] : []));
  return [...new Set([...before, ...named])];
}

/** Removes the endpoints from groups without servers. */
export async function clearGroups(core: Core, names: readonly string[], call: Call): Promise<void> {
  for (const name of names) {
    const { endpoint } = core.groups.all().find((group) => group.name === name) ?? {};
    if (endpoint !== undefined && othersIn(core, name, new Set()).length === 0)
      await editGroup(core, name, { endpoint: 'none', tools: [] }, call);
  }
}

/** The URL that clients use for a group. */
async function urlOf(core: Core, group: string): Promise<string | undefined> {
  const server = core.workloads
    .inGroup(group)
    .find((name) => isOfSwitch(core.workloads.require(name).runConfig));
  return server === undefined ? undefined : (await getWorkload(core, server)).proxy_url;
}

const settingsOf = ({ description, endpoint = 'none', tools = [] }: ProjectGroup): Settings => ({
  ...(description === undefined ? {} : { description }),
  endpoint,
  tools,
});

/** The servers of a group in the file that can run, with their workloads. */
function membersOf(group: string, servers: readonly ServerPlan[]): ServerPlan[] {
  const members = servers.filter(({ wanted }) => wanted?.request.group === group);
  if (members.length > 0) return members;
  throw invalid('no server of the file that can run is in this group', {
    hint: `add group: ${group} to a server`,
  });
}

/** The file names servers, and the group names workloads. */
function toolOf(tool: string, group: string, members: readonly ServerPlan[]): string {
  const [server = '', ...rest] = tool.split('/');
  const member = members.find(({ shown }) => shown.name === server);
  if (member !== undefined) return [member.shown.workload, ...rest].join('/');
  throw invalid(`${tool} is not a tool of a server in the group ${group}`, {
    hint: `use SERVER/TOOL, with one of ${members.map(({ shown }) => shown.name).join(', ')}`,
  });
}

/** A file that others have written does not decide about servers that the user has added to a group. */
function requireOwn(core: Core, group: string, members: readonly ServerPlan[]): void {
  if (group === defaultGroup)
    throw invalid('a project cannot change the default group', { hint: 'use another group for its servers' });
  requireOnly(core, group, new Set(members.flatMap(({ owned }) => owned?.id ?? [])));
}

function requireOnly(core: Core, group: string, ownedIds: ReadonlySet<string>): void {
  const others = othersIn(core, group, ownedIds);
  if (others.length === 0) return;
  throw conflict(`other workloads are in the group: ${others.join(', ')}`, {
    hint: 'use a group for this project alone, or change its endpoint with thv group edit',
  });
}

function othersIn(core: Core, group: string, ownedIds: ReadonlySet<string>): string[] {
  return core.workloads.inGroup(group).filter((name) => {
    const { id, runConfig } = core.workloads.require(name);
    return !ownedIds.has(id) && !isOfSwitch(runConfig);
  });
}

function changesOf(core: Core, group: string, wanted: Settings): string[] {
  const present = core.groups.all().find(({ name }) => name === group);
  const before = {
    description: present?.description ?? '',
    endpoint: present?.endpoint ?? 'none',
    tools: (present?.tools ?? []).join(', ') || 'all',
  };
  const after = {
    description: wanted.description ?? before.description,
    endpoint: wanted.endpoint,
    tools: wanted.tools.join(', ') || 'all',
  };
  return (['description', 'endpoint', 'tools'] as const).flatMap((key) =>
    before[key] === after[key]
      ? []
      : [`${key}: ${present === undefined ? '' : `${before[key] || 'nothing'} becomes `}${after[key]}`],
  );
}
