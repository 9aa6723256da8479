import type { Message } from '../jsonrpc/message.ts';

/**
 * Carries messages to one server and back: over stdio or HTTP. A transport
 * belongs to one connection.
 */
export interface Transport {
  /** How many sent bytes the server has not read yet. */
  readonly unreadBytes: number;
  /** The ID of the session with a legacy server, which another connection can continue. */
  readonly session?: string | undefined;
  /** Sends one message. Never throws: `listener.message` or `listener.closed` reports the outcome. */
  send(message: Message): void;
  /** Begins to receive. Called once, before anything is sent. */
  open(listener: TransportListener): void;
  /** Told when the protocol version is known, which some transports name with every message. */
  agree(protocolVersion: string): void;
  /** Ends the connection. Nothing is received after that. With `keepsSession`, another connection can continue its session. */
  close(options?: { keepsSession?: boolean }): Promise<void>;
}

/** A session that an earlier connection to a legacy server began. */
export interface EarlierSession {
  id: string;
  /** The request that began the session, in case the server has forgotten the session. */
  greeting: Message;
}

export interface TransportListener {
  /**
   * One message, or text that may not be a message. `related` is the ID of the request whose stream carried the
   * message, if the transport knows.
   */
  message(received: string | Message, related?: number): void;
  /** Data that is too large to read: its start and the error. */
  unreadable(start: string, why: string): void;
  /** The server sends more than its budget allows and must be stopped. `reason` continues "the server". */
  exceeded(reason: string): void;
  /** The server had ended the session, and there is a new one. What was set up in the old one is gone. */
  renewed?(): void;
  /** The server is gone, and why. */
  closed(reason: string): void;
}
