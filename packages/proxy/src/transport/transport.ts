import type { Message } from '../jsonrpc/message.ts';

/**
 * Carries messages to one server and back: over the standard streams of a process, or as HTTP requests. A transport
 * belongs to one connection.
 */
export interface Transport {
  /** How many bytes of what was sent the server has not read yet. */
  readonly unreadBytes: number;
  /** Sends one message. Never throws: `listener.message` or `listener.closed` reports what becomes of it. */
  send(message: Message): void;
  /** Begins to receive. Called once, before anything is sent. */
  open(listener: TransportListener): void;
  /** Told when the protocol version is known, which some transports name with every message. */
  agree(protocolVersion: string): void;
  /** Ends the connection. Nothing is received after that. */
  close(): Promise<void>;
}

export interface TransportListener {
  /**
   * One message, or text that may not be one. `related` is the ID of the request on whose stream it came, if the
   * transport knows that.
   */
  message(received: string | Message, related?: number): void;
  /** Something that is too large to be read: its start, and what is wrong with it. */
  unreadable(start: string, why: string): void;
  /** The server sends more than its budget allows and must be stopped. `reason` continues "the server". */
  exceeded(reason: string): void;
  /** The server is gone, and why. */
  closed(reason: string): void;
}
