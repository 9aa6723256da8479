import { setTimeout as delay } from 'node:timers/promises';
import { readMessage } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import type { Caller } from '../../middleware/middleware.ts';
import type { ServerIdentity } from '../../protocol/protocol.ts';
import { isOver } from './forms.ts';
import type { TasksForModern } from './tasks-for-modern.ts';

/** How many tasks one stream of a client may follow. */
export const maxFollowed = 100;

/**
 * Tells a modern client of each change of a legacy server's task, until the task is over or gone. The proxy asks the server,
 * because legacy servers may send notifications about tasks, but need not.
 */
export async function watchTask(
  { tasks, caller, identity }: { tasks: TasksForModern; caller: Caller; identity: ServerIdentity },
  id: string,
  changed: (notification: Message) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let last = ''; ;) {
    const found = await tasks.find(id, caller, identity);
    signal.throwIfAborted();
    if (typeof found === 'string') return;
    const { task, members } = await found.detail(signal);
    const { lastUpdatedAt: _time, ...state } = task;
    const said = JSON.stringify(state) + members;
    if (said !== last) changed(notificationOf(JSON.stringify(task), members));
    last = said;
    if (isOver(task)) return;
    await delay(task.pollIntervalMs, undefined, { signal, ref: false });
  }
}

function notificationOf(task: string, members: string): Message {
  const params = `${task.slice(0, -1)}${members}}`;
  return readMessage(`{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`);
}
