// The server in an exported bundle: carries messages between a client that starts it and a running workload.
import * as readline from 'node:readline';

interface Message {
  id?: string | number | null;
  method?: string;
  params?: { protocolVersion?: unknown };
  result?: { protocolVersion?: unknown };
}

const { WORKLOAD_URL: url = '', WORKLOAD_TOKEN: token = '' } = process.env;
const RECONNECT_MS = 1_000;
/** Client errors other than this one mean that the server has nothing to say by itself. */
const TOO_MANY_REQUESTS = 429;

const ended = new AbortController();
let session: string | undefined;
let protocolVersion: string | undefined;

/** The messages that the session is not ready for yet wait for its first answer. */
let beginning: Promise<void> = Promise.resolve();
const pending = new Set<Promise<void>>();

const write = (message: unknown): void => {
  process.stdout.write(`${JSON.stringify(message)}\n`);
};

function headersFor(accept: string): Record<string, string> {
  return {
    accept,
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
    ...(protocolVersion === undefined ? {} : { 'mcp-protocol-version': protocolVersion }),
  };
}

async function send(message: Message): Promise<void> {
  const isRequest = message.id !== undefined && message.method !== undefined;
  let isAnswered = false;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headersFor('application/json, text/event-stream'), 'content-type': 'application/json' },
      body: JSON.stringify(message),
    });
    session = response.headers.get('mcp-session-id') ?? session;
    for await (const answer of messagesIn(response)) {
      if (answer.id === message.id && answer.method === undefined) isAnswered = true;
      if (message.method === 'initialize' && typeof answer.result?.protocolVersion === 'string')
        protocolVersion = answer.result.protocolVersion;
      write(answer);
    }
    if (isAnswered || !isRequest) return;
    fail(message, `the workload answered with the status ${response.status}`);
  } catch (error) {
    if (isRequest && !isAnswered)
      fail(message, `the workload at ${url} cannot be reached: ${reasonOf(error)}`);
  }
}

function fail({ id }: Message, reason: string): void {
  const text = `${reason}. To start the workload, run thv start. If its address has changed, run thv list`;
  write({ jsonrpc: '2.0', id, error: { code: -32000, message: text } });
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The messages of an answer: a JSON text, or an event stream. */
async function* messagesIn(response: Response): AsyncGenerator<Message> {
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || response.status === 202) return;
  if (!type.startsWith('text/event-stream')) {
    const text = await response.text();
    if (!type.startsWith('application/json') || text === '') return;
    const value = JSON.parse(text) as Message | Message[];
    yield* Array.isArray(value) ? value : [value];
    return;
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = [...event.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join('\n');
      if (data !== '') yield JSON.parse(data) as Message;
    }
  }
}

/** Passes on what the server says by itself, until the client leaves. */
async function listen(): Promise<void> {
  while (!ended.signal.aborted) {
    try {
      const response = await fetch(url, { headers: headersFor('text/event-stream'), signal: ended.signal });
      if (response.status >= 400 && response.status < 500 && response.status !== TOO_MANY_REQUESTS) return;
      for await (const message of messagesIn(response)) write(message);
    } catch {
      // ended by the client, or tried again
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS).unref());
  }
}

async function leave(): Promise<void> {
  await Promise.all(pending);
  ended.abort();
  if (session === undefined) return;
  await fetch(url, { method: 'DELETE', headers: headersFor('application/json') }).catch(() => {}); // it is gone anyway
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  let message: Message;
  try {
    message = JSON.parse(line) as Message;
  } catch {
    process.stderr.write('ignored a line that is not JSON\n');
    return;
  }
  const sent = beginning.then(() => send(message));
  if (message.method === 'initialize') beginning = sent;
  if (message.method === 'notifications/initialized') sent.then(listen, () => {});
  pending.add(sent);
  sent.then(
    () => pending.delete(sent),
    () => pending.delete(sent),
  );
});
lines.on('close', () => {
  leave().then(
    () => process.exit(),
    () => process.exit(1),
  );
});
