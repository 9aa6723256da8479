import type { ServerConnection } from '../../connection/connection.ts';
import { withAnswer } from '../../connection/responder.ts';
import type { Responder } from '../../connection/responder.ts';
import { elementsOf, insertMembers, isObject, readMessage, spanOf } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { tasksExtension } from '../../protocol/extensions.ts';
import type { ClientIdentity, ServerIdentity } from '../../protocol/protocol.ts';
import { declaresTasks, knowsTasks, offersLegacyTasks } from './forms.ts';

/** The tasks of a modern server, as a legacy client uses them (MCP 2025-11-25, Tasks, Server Capabilities). */
const legacyTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/**
 * The description of a server for a legacy client over a connection that it shares with others. The tasks of a legacy server are
 * not offered there, because the server takes all clients for one, and would show each the tasks of the others.
 */
export function forLegacyClient(identity: ServerIdentity, client: ClientIdentity): ServerIdentity {
  const capabilities = withoutTasks(identity.capabilities);
  const hasTasks = declaresTasks(identity) && knowsTasks(client);
  return { ...identity, capabilities: hasTasks ? { ...capabilities, tasks: legacyTasks } : capabilities };
}

/** The description of a legacy server, whose tasks need a connection for each client, for a modern client. */
export function forModernClient(identity: ServerIdentity, hasOwnConnections: boolean): ServerIdentity {
  const capabilities = withoutTasks(identity.capabilities);
  if (!hasOwnConnections || !offersLegacyTasks(identity)) return { ...identity, capabilities };
  const { extensions } = capabilities;
  const offered = { ...(isObject(extensions) ? extensions : {}), [tasksExtension]: {} };
  return { ...identity, capabilities: { ...capabilities, extensions: offered } };
}

/** Capabilities without tasks in either form. */
function withoutTasks({ tasks: _tasks, ...capabilities }: Record<string, unknown>): Record<string, unknown> {
  const { extensions, ...others } = capabilities;
  if (!isObject(extensions) || extensions[tasksExtension] === undefined) return capabilities;
  const { [tasksExtension]: _extension, ...rest } = extensions;
  return Object.keys(rest).length === 0 ? others : { ...others, extensions: rest };
}

/**
 * Marks all tools in a list as tools that can run as tasks, as clients of 2025-11-25 require (Tasks, Tool-Level
 * Negotiation), if the request is for the tools of a modern server with tasks. That server decides with each call. This is
 * outside all middleware, because clients of other versions get the same tools without the mark.
 */
export function withTaskSupport(
  responder: Responder,
  { value: { method } }: Message,
  client: ClientIdentity,
  server: ServerConnection | undefined,
): Responder {
  if (method !== 'tools/list' || server?.generation !== 'modern' || !knowsTasks(client)) return responder;
  if (!declaresTasks(server.identity)) return responder;
  return withAnswer(responder, (response) => responder.answer(marked(response)));
}

function marked(response: Message): Message {
  const { result } = response.value;
  if (!isObject(result) || !Array.isArray(result['tools'])) return response;
  const { text } = response;
  const [start, end] = spanOf(text, ['result', 'tools']) ?? [0, 0];
  const tools = elementsOf(text.slice(start, end)).map((tool, at) => {
    const listed = (result['tools'] as unknown[])[at];
    const isMarked = !isObject(listed) || listed['execution'] !== undefined;
    return isMarked ? tool : insertMembers(tool, [], { execution: { taskSupport: 'optional' } });
  });
  return readMessage(`${text.slice(0, start)}[${tools.join(',')}]${text.slice(end)}`);
}
