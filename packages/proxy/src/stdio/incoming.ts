import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../http/body.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { MalformedMessage, errorText, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';

/** Reads the JSON-RPC message that a request brings, or answers the request with what is wrong with it. */
export function readIncoming(
  request: IncomingMessage,
  response: ServerResponse,
  accept: (message: Message) => void,
): void {
  readBody(request, (error, text) => {
    if (error !== undefined) {
      replyText(response, error.status, error.message, { connection: 'close' });
      return;
    }
    let message: Message;
    try {
      message = readMessage(text);
    } catch (malformed) {
      if (!(malformed instanceof MalformedMessage)) throw malformed;
      // The id is not known, and JSON-RPC 2.0, section 5, wants null for that.
      replyJson(response, 400, errorText('null', malformed.code, malformed.message));
      return;
    }
    accept(message);
  });
}
