import { operations } from '@toolhive/contract/operations';
import type { OperationId } from '@toolhive/contract/operations';
import { format } from 'prettier';
import { stringify } from 'yaml';
import type { Program } from '../../../../cli/src/command.ts';
import { callsOf, exampleBody, examplePath } from './open-api.ts';
import type { Call, OpenApi, Sample } from './open-api.ts';

/** The command for each operation, and, if the command has several examples, a word in the right one. */
const commandOf: Partial<Record<OperationId, readonly [path: string, word?: string]>> = {
  getVersion: ['version'],
  getRuntime: ['runtime check'],
  diagnoseMachine: ['doctor'],
  diagnoseWorkload: ['doctor', 'filesystem'],
  diagnoseClient: ['doctor', 'cursor'],
  listWorkloads: ['list', '--all'],
  createWorkload: ['run', 'server-everything'],
  deleteWorkload: ['rm', 'filesystem'],
  deleteWorkloads: ['rm', '--group'],
  getToolPins: ['pin show', 'github'],
  approveToolPins: ['pin approve', 'github'],
  dismissToolPins: ['pin dismiss', 'github'],
  changeToolPinning: ['pin mode', 'github'],
  getWorkloadUpdate: ['outdated', 'memory'],
  upgradeWorkload: ['upgrade', '--yes'],
  exportWorkload: ['export', '.json'],
  exportManifest: ['export', 'k8s'],
  getWorkloadLogs: ['logs'],
  getProxyLogs: ['logs', '--proxy'],
  pruneLogs: ['logs prune'],
  stopWorkload: ['stop', 'filesystem'],
  stopWorkloads: ['stop', '--group'],
  startWorkload: ['start', 'filesystem'],
  startWorkloads: ['start', '--all'],
  restartWorkload: ['restart', 'filesystem'],
  restartWorkloads: ['restart', '--all'],
  listAudit: ['audit', '24h'],
  watchAudit: ['audit', '--follow'],
  verifyAudit: ['audit verify'],
  listGroups: ['group list'],
  createGroup: ['group create'],
  deleteGroup: ['group rm'],
  listClients: ['client list-registered'],
  registerClients: ['client register'],
  unregisterClients: ['client remove'],
  discoverClients: ['client status'],
  listRegistryServers: ['registry list'],
  getRegistryServer: ['registry info'],
  updateRegistry: ['config set-registry'],
  setupSecrets: ['secret setup'],
  listSecrets: ['secret list'],
  createSecret: ['secret set'],
  updateSecret: ['secret set'],
  deleteSecret: ['secret delete'],
  readSecret: ['secret get'],
  forgetSecretsKey: ['secret reset-keyring'],
  getSetting: ['config otel get-tracing-enabled'],
  changeSetting: ['config otel set-tracing-enabled'],
  unsetSetting: ['config otel unset-tracing-enabled'],
  writeRecipe: ['build', '--dry-run'],
  buildImage: ['build', '--tag'],
};

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
    isSocketOnly: isSocketOnly(call),
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

function operationOf({
  operation: { operationId },
}: Call): [OperationId, (typeof operations)[OperationId] | undefined] {
  const id = operationId.replace(/AtRoot$/, '') as OperationId; // all except the operation that returns the document
  return [id, operations[id]];
}

function isSocketOnly(call: Call): boolean {
  const [, operation] = operationOf(call);
  return operation !== undefined && 'socketOnly' in operation && operation.socketOnly;
}

function commandLineOf(call: Call, program: Program): string | undefined {
  const [id] = operationOf(call);
  const known = commandOf[id];
  if (known === undefined) return undefined;
  const [path, word = ''] = known;
  const examples = program.commands.find((command) => command.path === path)?.examples ?? [];
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
