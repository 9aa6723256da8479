import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { format } from 'prettier';
import { stringify } from 'yaml';
import type { Program } from '@toolhive/cli/command';
import { callsOf, exampleBody, examplePath } from './open-api.ts';
import type { Call, OpenApi, Sample } from './open-api.ts';

/** The OpenAPI document with examples of every operation, as YAML. */
export async function apiSpec(document: object, program: Program): Promise<string> {
  const openApi = document as OpenApi;
  for (const call of callsOf(openApi))
    call.operation['x-codeSamples'] = await samplesOf(openApi, call, program);
  return stringify(openApi, { lineWidth: 0, aliasDuplicateObjects: false });
}

async function samplesOf(document: OpenApi, call: Call, program: Program): Promise<Sample[]> {
  const request: Request = {
    method: call.method,
    url: document.servers[0]?.url + examplePath(document, call),
    body: exampleBody(document, call),
    answer: answerOf(call),
    isSocketOnly: operationOf(call)?.socketOnly === true,
  };
  const command = commandLineOf(call, program);
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    // Browsers and `fetch` cannot connect to a Unix socket.
    ...(request.isSocketOnly
      ? []
      : [{ lang: 'JavaScript', label: 'JavaScript', source: await javaScript(request) }]),
    ...(command === undefined ? [] : [{ lang: 'Shell', label: 'thv', source: command }]),
  ];
}

interface Request {
  method: string;
  url: string;
  body: unknown;
  answer: 'json' | 'text' | 'events' | 'nothing';
  isSocketOnly: boolean;
}

/** The declaration of an operation. The operation that returns the document has none. */
function operationOf({ operation: { operationId } }: Call): Operation | undefined {
  const declarations: Readonly<Record<string, Operation>> = operations;
  return declarations[operationId.replace(/AtRoot$/, '')];
}

function commandLineOf(call: Call, program: Program): string | undefined {
  const command = operationOf(call)?.command ?? 'none';
  if (command === 'none') return undefined;
  const [path, word = ''] = command;
  const examples = program.commands.find((one) => one.path === path)?.examples ?? [];
  const line = examples.find((example) => example.includes(word));
  if (line === undefined) throw new Error(`thv ${path} has no example with ${word}`);
  return line;
}

function answerOf({ operation }: Call): Request['answer'] {
  const [, answer] = Object.entries(operation.responses).findLast(([status]) => status.startsWith('2')) ?? [];
  const types = answer !== undefined && 'content' in answer ? Object.keys(answer.content ?? {}) : [];
  if (types.includes('text/event-stream')) return 'events';
  if (types.includes('application/json')) return 'json';
  return types.length > 0 ? 'text' : 'nothing';
}

/** The default socket of the daemon on Linux. */
const socket = '~/.local/state/toolhive/hive.sock';

function curl({ method, url, body, answer, isSocketOnly: socketOnly }: Request): string {
  return [
    'curl',
    ...(answer === 'events' ? ['--no-buffer'] : []),
    ...(socketOnly ? [`--unix-socket ${socket}`] : []),
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    url,
    ...(method === 'GET' ? [] : ["--header 'Content-Type: application/json'"]),
    ...(body === undefined
      ? []
      : [`--data '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''").replaceAll('\n', '\n  ')}'`]),
  ]
    .join(' ')
    .replaceAll(/ (?=--(?:header|data) )/g, ' \\\n  ');
}

async function javaScript({ method, url, body, answer }: Request): Promise<string> {
  const options = [
    `method: '${method}'`,
    "headers: { 'Content-Type': 'application/json' }",
    ...(body === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(body, null, 2)})`]),
  ];
  const uses: Record<Request['answer'], string> = {
    json: 'console.log(await response.json());',
    text: 'console.log(await response.text());',
    events:
      'const text = response.body.pipeThrough(new TextDecoderStream());\nfor await (const piece of text) console.log(piece);',
    nothing: 'console.log(response.status);',
  };
  const code = `const response = await fetch('${url}'${method === 'GET' ? '' : `, {${options.join(',')}}`});\n${uses[answer]}`;
  const pretty = await format(code, { parser: 'babel', singleQuote: true, printWidth: 76 });
  return pretty.trimEnd();
}
