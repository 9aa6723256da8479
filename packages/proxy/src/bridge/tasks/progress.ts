import { withNotify } from '../../connection/responder.ts';
import type { Responder } from '../../connection/responder.ts';
import { readMessage, written } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import type { Task } from './forms.ts';

/**
 * Returns a responder for a call whose task the client does not see, and a function that reports the status messages of
 * the task as progress. Tasks of the extension have no progress of their own (SEP-2663, Task Status Notifications).
 */
export function withStatusProgress(
  call: Message,
  responder: Responder,
): { responder: Responder; report: (task: Pick<Task, 'statusMessage'>) => void } {
  let reached = 0;
  let last: string | undefined;
  const counting = withNotify(responder, (notification) => {
    const { method, params } = notification.value;
    const progress = params?.['progress'];
    if (method === 'notifications/progress' && typeof progress === 'number')
      reached = Math.max(reached, progress);
    responder.notify(notification);
  });
  const report = ({ statusMessage }: Pick<Task, 'statusMessage'>): void => {
    if (call.token === undefined || statusMessage === undefined || statusMessage === last) return;
    last = statusMessage;
    reached = Math.floor(reached) + 1; // progress must rise (MCP 2025-11-25, Progress)
    const token = written(call, call.token);
    const rest = `"progress":${reached},"message":${JSON.stringify(statusMessage)}`;
    responder.notify(
      readMessage(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},${rest}}}`,
      ),
    );
  };
  return { responder: counting, report };
}
