import { DaemonEvent } from '@toolhive/contract/event';
import * as z from 'zod';
import { code, table, textOf } from './markdown.ts';
import { rootOf, variantsOf } from './schema.ts';

/** The cause of each event. */
const causes: Record<DaemonEvent['type'], string> = {
  'workload.changed': 'A workload changed its status, its group, or its configuration.',
  'workload.removed': 'A workload was removed.',
  'workload.progress': 'A workload is being created or changed, and a step started.',
  'group.changed': 'A group was created or changed.',
  'group.removed': 'A group was removed.',
  'client.changed': 'A client was registered, changed, or removed.',
  'client.unmanaged': 'A client has new servers that ToolHive does not run.',
  'secret.changed': 'A secret was stored.',
  'secret.removed': 'A secret was deleted.',
  'secrets.changed': 'The secrets provider changed, or the secrets were locked or unlocked.',
  'registry.changed': 'The registry was set, unset, or read again.',
  'setting.changed': 'A setting was changed.',
  'network.denied': 'A server tried to connect to a denied host for the first time.',
  'pins.changed': 'A server changed a tool, prompt, or resource since you approved it.',
  'tool.changed': 'The tools, prompts, or resources of a server changed.',
  'approval.requested': 'Changed items of a server wait for your approval.',
  'update.found': 'A lookup found a newer package version for a workload.',
  reset: 'Events are missing before this one. Read the lists again.',
};

/** Returns the table of all event types with their fields, to be included in a page. */
export function eventReference(): string {
  const variants = new Map(
    variantsOf(rootOf(z.toJSONSchema(DaemonEvent, { io: 'input' }))).map(({ name, schema }) => [
      name,
      schema,
    ]),
  );
  const rows = Object.entries(causes).map(([type, cause]) => {
    const fields = Object.keys(variants.get(type)?.properties ?? {}).filter((field) => field !== 'type');
    return [code(type), textOf(cause), fields.map(code).join(', ')];
  });
  return `${table('Events', ['Type', 'Cause', 'Fields'], rows)}\n`;
}
