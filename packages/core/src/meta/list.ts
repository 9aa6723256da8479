import { printable } from '@toolhive/contract/printable';
import type * as z from 'zod';
import type { ToolDirectory } from './directory.ts';
import type { MetaCall, MetaResult } from './meta-call.ts';
import type { ListTools } from './tool-inputs.ts';
import { callName, sharedNames } from './tool-names.ts';

const maxDescription = 120;

/** Answers `list_tools`: the names of all tools that the caller may call, by server. */
export async function listTools(
  directory: ToolDirectory,
  { server, group }: z.output<typeof ListTools>,
  { caller, signal }: MetaCall,
): Promise<MetaResult> {
  const visible = await directory.visibleTo(caller, signal);
  const shared = sharedNames(visible);
  const views = new Set(visible.views.values());
  const servers = [...views]
    .filter(
      ({ member }) =>
        (server === undefined || member.name === server) && (group === undefined || member.group === group),
    )
    .map(({ member, tools }) => ({
      server_name: member.name,
      group: member.group,
      tools: tools.map(({ name, description }) => ({
        tool_name: printable(callName(member.name, name, shared)),
        ...(typeof description === 'string' ? { description: firstLine(description) } : {}),
      })),
    }))
    .toSorted((one, other) => (one.server_name < other.server_name ? -1 : 1));
  const unavailable = visible.problems.map((one) => ({
    server: one.server,
    problem: printable(one.problem).slice(0, 300),
  }));
  return { value: { servers, ...(unavailable.length === 0 ? {} : { unavailable }) } };
}

function firstLine(description: string): string {
  const [line = ''] = printable(description).trim().split('\n', 1);
  return line.length <= maxDescription ? line : `${line.slice(0, maxDescription)}…`;
}
