import type { Message, MessageValue } from '../jsonrpc/message.ts';

/**
 * How messages get to one server and back, whatever the transport: a process's standard streams, or requests of
 * HTTP. A transport belongs to one conversation.
 */
export interface Transport {
  /** How much of what was sent the server has not taken yet. */
  readonly unreadBytes: number;
  /**
   * Sends one message, which says `value` if that is known. What becomes of it is told by `message` or `closed`
   * only; never throws.
   */
  send(text: string, value?: MessageValue): void;
  /** Begins to hear. Called once, before anything is sent. */
  open(listener: TransportListener): void;
  /** Told once the revision is known: some transports name it with every message. */
  agree(revision: string): void;
  /** Ends the conversation; nothing is heard any more. */
  close(): Promise<void>;
}

export interface TransportListener {
  /**
   * One message, or text that may be none. `related` is the id of the request on whose stream it came, where the
   * transport tells.
   */
  message(said: string | Message, related?: number): void;
  /** Something that is too large to be taken: how it begins, and what is wrong with it. */
  unreadable(start: string, why: string): void;
  /** The server sends more than its budget allows, and has to be stopped. `reason` goes on from "the server". */
  exceeded(reason: string): void;
  /** The server is gone, and why. */
  closed(reason: string): void;
}
