import type { Duplex } from 'node:stream';
import type { Bridge } from '../bridge/bridge.ts';

/** A client in this process whose connections belong together. */
export interface Conversation {
  /** Aborts when the client has ended. */
  readonly ended: AbortSignal;
}

const conversations = new WeakMap<Duplex, Conversation>();
/** The names of connections and conversations. */
const names = new WeakMap<Bridge, WeakMap<object, string>>();
let lastName = 0;

/** Makes a connection a part of a conversation. */
export function joinConversation(connection: Duplex, conversation: Conversation): void {
  conversations.set(connection, conversation);
}

/**
 * Returns the name of a client's connection, or of its conversation. State under this name ends with the connection or
 * the conversation.
 */
export function nameOfConnection(
  bridge: Bridge,
  socket: Duplex,
): { clientConnection: string; isConversation: boolean } {
  const conversation = conversations.get(socket);
  const isConversation = conversation !== undefined;
  // A connection to the API can lead to several bridges.
  const known = names.get(bridge) ?? new WeakMap<object, string>();
  names.set(bridge, known);
  const before = known.get(conversation ?? socket);
  if (before !== undefined) return { clientConnection: before, isConversation };
  const clientConnection = String(++lastName);
  known.set(conversation ?? socket, clientConnection);
  const forget = (): void => bridge.forgetConnection(clientConnection);
  if (conversation === undefined) socket.once('close', forget);
  else conversation.ended.addEventListener('abort', forget, { once: true });
  return { clientConnection, isConversation };
}
