import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PassingMap } from '@toolhive/contract/passing';
import { openFiles } from '@toolhive/runtime/open-files';
import { onceClosed } from './closing.ts';
import { writeNow } from './reply-queue.ts';
import type { ConnectionCount } from '@toolhive/runtime/open-files';

/** Time limits and the number of connections of a listener. */
export interface ConnectionLimits {
  /** For the headers of a request. */
  headersMs: number;
  /** For a whole request, its body included. */
  requestMs: number;
  /** For a client that does not read its data. */
  stalledMs: number;
  /** The connection limit. A new connection replaces the one with the longest idle time. */
  connections: number;
  /** Counts the connections together with those of other listeners. */
  together?: ConnectionCount;
}

/** The connection limit of the API. */
export const apiConnections: number = openFiles.budgets.api;

/**
 * Lets a listener handle its clients in the asynchronous context of the caller. The kernel's connections have none, so
 * the workload of a fault would be unknown.
 */
export function keepContext(server: Server): void {
  const inContext = AsyncLocalStorage.snapshot();
  const keep = (emitter: EventEmitter): void => {
    const emit = emitter.emit.bind(emitter);
    const emitInContext: typeof emit = (...event) => inContext(() => emit(...event));
    emitter.emit = emitInContext;
  };
  keep(server);
  server.on('connection', keep);
}

/** How many requests of one connection may wait for the response before theirs. */
const maxWaiting = 100;

/**
 * Hands over the requests of a server, those of each connection one after the other. Answers invalid HTTP like any other
 * invalid request, and ends connections of clients that send nothing or read nothing.
 */
export function serveConnections(
  server: Server,
  { connections, together, stalledMs }: ConnectionLimits,
  { answer, headers = {} }: Answering,
): void {
  /** Every connection with its pending responses. The one that was idle for the longest time is first. */
  const open = new PassingMap<Duplex, ServerResponse[]>();

  server.on('connection', (socket: Socket) => {
    const isFull = open.size >= connections || together?.isFull === true;
    open.set(socket, []);
    if (together !== undefined) socket.once('close', together.add());
    socket.once('close', () => open.delete(socket));
    if (isFull) giveUpLongest();
  });
  server.on('request', take);
  // Any expectation but 100-continue may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', take);
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => refuse(socket, statusOfFault(code)));
  server.on('connect', (_request, socket) => refuse(socket, 400)); // this is not a forward proxy
  server.setTimeout(stalledMs, (socket) => {
    // A stream may be quiet.
    if (socket.writableLength > 0 || open.get(socket)?.length === 0) socket.destroy();
  });

  function take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const answers = open.get(socket);
    if (answers === undefined) return; // its connection was replaced
    const before = answers.at(-1);
    answers.push(response);
    onceClosed(response, () => {
      answers.splice(answers.indexOf(response), 1);
      if (answers.length === 0 && open.delete(socket)) open.set(socket, answers);
    });
    if (answers.length > maxWaiting) socket.destroy();
    else if (before === undefined) respond(request, response);
    // Only one response at a time may be in memory without being read.
    else {
      onceClosed(before, () => {
        if (!socket.destroyed) respond(request, response);
      });
    }
  }

  function respond(request: IncomingMessage, response: ServerResponse): void {
    if (!hasSecondHost(request)) return answer(request, response);
    response.writeHead(400, faultHeaders(400, headers)).end(faultText(400));
  }

  /** There is always one, as the newest connection is idle. */
  function giveUpLongest(): void {
    for (const [socket, answers] of open) {
      if (answers.some(({ req }) => req.complete)) continue;
      open.delete(socket);
      socket.destroy();
      return;
    }
  }

  /** Answers earlier requests first, or ends a response that has begun, so that no response is taken for another one. */
  function refuse(socket: Duplex, status: FaultStatus): void {
    if (!socket.writable) return; // refused before
    const answers = open.get(socket) ?? [];
    for (const answer of answers) writeNow(answer);
    const last = answers.findLast(({ req }) => req.complete);
    if (last?.headersSent === false) {
      last.shouldKeepAlive = false;
      return;
    }
    if (!answers.some(({ headersSent }) => headersSent)) socket.write(rawAnswer(status, headers));
    (socket as Socket).destroySoon(); // a server that speaks HTTP over TCP and Unix sockets has no other
  }
}

export interface Answering {
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Additional headers of responses to invalid requests. */
  headers?: Readonly<Record<string, string>>;
}

/** The responses to invalid HTTP, by status. */
export const faults = {
  400: 'the request is not valid HTTP',
  408: 'the request was not received in time',
  431: 'the headers are larger than accepted',
  500: 'internal server error',
} as const;
export type FaultStatus = keyof typeof faults;

function statusOfFault(code: string | undefined): FaultStatus {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}

/** Another program might read the other header, and take the request for one to another host (RFC 9112, section 3.2). */
function hasSecondHost({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

function rawAnswer(status: FaultStatus, more: Readonly<Record<string, string>>): string {
  const lines = Object.entries(faultHeaders(status, more)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', faultText(status)].join('\r\n');
}

function faultHeaders(status: FaultStatus, more: Readonly<Record<string, string>>): Record<string, string> {
  return {
    ...more,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(faultText(status).length),
    connection: 'close',
  };
}

function faultText(status: FaultStatus): string {
  return `${faults[status]}\n`;
}
