import { membersOf, readMessage, replaceAt, spanOf } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { meta } from '../protocol/protocol.ts';

/** The members of `_meta` with which a modern client describes itself. */
const described: ReadonlySet<string> = new Set([
  meta.protocolVersion,
  meta.clientInfo,
  meta.clientCapabilities,
  meta.logLevel,
]);

/**
 * Returns a request without the description of its client, which a legacy server has from its handshake. Servers of both
 * generations take a described request for a modern one, and refuse it over a legacy connection.
 */
export function withoutClientMeta(request: Message): Message {
  const { text, value } = request;
  const names = Object.keys(value.params?._meta ?? {});
  const span = spanOf(text, ['params', '_meta']);
  if (span === undefined || !names.some((name) => described.has(name))) return request;
  const kept = membersOf(text.slice(...span)).filter(([name]) => !described.has(name));
  const members = kept.map(([name, member]) => `${JSON.stringify(name)}:${member}`);
  return readMessage(replaceAt(text, span, `{${members.join(',')}}`));
}
