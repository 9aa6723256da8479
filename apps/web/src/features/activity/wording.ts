import type { AuditRecord, NumberedAuditRecord } from '@toolhive/contract/audit';
import type { OperationId } from '@toolhive/contract/operations';
import type { IconName } from '../../ui/drawing/icon.tsx';

/** An action of a person: verb, object, and the words after the name of the object. */
type Phrase = readonly [verb: Verb, object?: string, rest?: string];
type Verb = keyof typeof past;

/** The verbs of this page with their past. */
const past = {
  add: 'added',
  adopt: 'adopted',
  approve: 'approved',
  build: 'built',
  call: 'called',
  change: 'changed',
  check: 'checked',
  complete: 'completed',
  connect: 'connected',
  create: 'created',
  disconnect: 'disconnected',
  dismiss: 'dismissed',
  end: 'ended',
  export: 'exported',
  list: 'listed',
  lose: 'lost',
  open: 'opened',
  plan: 'planned',
  reach: 'reached',
  read: 'read',
  receive: 'received',
  remove: 'removed',
  reset: 'reset',
  restart: 'restarted',
  send: 'sent',
  'set up': 'set up',
  'sign in': 'signed in',
  start: 'started',
  stop: 'stopped',
  undo: 'undid',
  update: 'updated',
  use: 'used',
} as const;

/** The operations that are recorded. Those that only read are recorded if they were denied. */
const operations: Partial<Record<OperationId, Phrase>> = {
  stopDaemon: ['stop', 'the daemon'],
  openUi: ['open', 'the web UI'],
  createUiSession: ['sign in', 'to the web UI'],
  createUiApp: ['open', 'an app'],
  createWorkload: ['create', 'the server'],
  editWorkload: ['change', 'the server'],
  inspectBundle: ['read', 'a bundle'],
  upgradeWorkload: ['update', 'the server'],
  pruneLogs: ['remove', 'old logs'],
  signInWorkload: ['start', 'the sign-in to'],
  stopWorkload: ['stop', 'the server'],
  startWorkload: ['start', 'the server'],
  restartWorkload: ['restart', 'the server'],
  deleteWorkload: ['remove', 'the server'],
  stopWorkloads: ['stop', 'servers'],
  startWorkloads: ['start', 'servers'],
  restartWorkloads: ['restart', 'servers'],
  deleteWorkloads: ['remove', 'servers'],
  changePermissions: ['change', 'the hosts of'],
  startLearning: ['start', 'learning for'],
  stopLearning: ['stop', 'learning for'],
  checkAuthorization: ['check', 'the policies of'],
  approveToolPins: ['approve', 'tools of'],
  dismissToolPins: ['dismiss', 'tool changes of'],
  changeToolPinning: ['change', 'tool pinning for'],
  relayMessage: ['send', 'a message to'],
  endRelaySession: ['end', 'a session of'],
  changeTrafficRecording: ['change', 'call recording for'],
  endSession: ['end', 'a session of'],
  createGroup: ['create', 'the group'],
  editGroup: ['change', 'the group'],
  deleteGroup: ['remove', 'the group'],
  createClient: ['connect', 'the client'],
  deleteClient: ['disconnect', 'the client'],
  deleteClientFromGroup: ['remove', 'the client', 'from a group'],
  registerClients: ['connect', 'the client'],
  unregisterClients: ['disconnect', 'the client'],
  planAdoption: ['plan', 'the adoption of servers'],
  adoptServers: ['adopt', 'servers of clients'],
  undoAdoption: ['undo', 'the adoption of servers'],
  planProject: ['plan', 'a project'],
  applyProject: ['start', 'a project'],
  removeProject: ['remove', 'a project'],
  exportProject: ['export', 'a project'],
  addRegistry: ['add', 'the registry'],
  updateRegistry: ['change', 'the registry'],
  deleteRegistry: ['remove', 'the registry'],
  setupSecrets: ['set up', 'the secrets'],
  createSecret: ['add', 'the secret'],
  updateSecret: ['change', 'the secret'],
  readSecret: ['read', 'the secret'],
  deleteSecret: ['remove', 'the secret'],
  forgetSecretsKey: ['remove', 'the key of the secrets'],
  changeSetting: ['change', 'the setting'],
  unsetSetting: ['reset', 'the setting'],
  buildImage: ['build', 'an image'],
};

/** The other types of records, with their pictures. */
const types: Readonly<Record<string, readonly [icon: IconName, ...phrase: Phrase]>> = {
  mcp_initialize: ['client', 'connect'],
  mcp_tool_call: ['activity', 'call'],
  mcp_tools_list: ['activity', 'list', 'the tools'],
  mcp_resource_read: ['files', 'read'],
  mcp_resources_list: ['files', 'list', 'the resources'],
  mcp_prompt_get: ['activity', 'use', 'the prompt'],
  mcp_prompts_list: ['activity', 'list', 'the prompts'],
  mcp_ping: ['activity', 'send', 'a ping'],
  mcp_logging: ['settings', 'change', 'the log level'],
  mcp_completion: ['activity', 'complete', 'an argument'],
  mcp_notification: ['activity', 'send', 'the notification'],
  mcp_roots_list_changed: ['files', 'change', 'the roots'],
  mcp_request: ['activity', 'send', 'the request'],
  http_request: ['network', 'send', 'the request'],
  sse_connection: ['network', 'open', 'an event stream'],
  network_denied: ['network', 'reach'],
  secret_access: ['secrets', 'receive', 'the secret'],
  audit_gap: ['warning', 'lose', 'records'],
};

/** A record as a sentence without its subject. An action without success was only tried. */
export function sentenceOf({ type, outcome, target = {} }: AuditRecord): string {
  const { method = '', name, endpoint } = target;
  const known = phraseOf(type, method);
  const words = known === undefined ? [method === '' ? type : method] : known.slice(1, 2);
  const isOf = type.startsWith('mcp_') && /list$|ping|logging|completion|initialize/.test(type);
  const object = isOf ? undefined : (name ?? (type === 'api_call' ? undefined : (endpoint ?? method)));
  const verb = known?.[0];
  const did = outcome === 'success' || type === 'audit_gap';
  const begin = verb === undefined ? undefined : did ? past[verb] : `tried to ${verb}`;
  return [begin, ...words, object, known?.[2]].filter(Boolean).join(' ');
}

function phraseOf(type: string, method = ''): Phrase | undefined {
  if (type !== 'api_call')
    return Object.hasOwn(types, type) ? (types[type]?.slice(1) as unknown as Phrase) : undefined;
  return Object.hasOwn(operations, method) ? operations[method as OperationId] : undefined; // of another version
}

/** The pictures of verbs, and of the objects of other verbs. */
const pictures: Readonly<Record<string, IconName>> = {
  add: 'add',
  create: 'add',
  remove: 'remove',
  restart: 'restart',
  start: 'start',
  stop: 'stop',
  clients: 'clients',
  groups: 'groups',
  registry: 'registries',
  secrets: 'secrets',
  workloads: 'workloads',
};

/** The picture beside a record. */
export function iconOf({ type, outcome, target = {} }: AuditRecord): IconName {
  if (outcome === 'denied') return 'bad';
  if (Object.hasOwn(types, type)) return types[type]?.[0] ?? 'activity';
  return (
    pictures[phraseOf(type, target['method'])?.[0] ?? ''] ?? pictures[target['type'] ?? ''] ?? 'settings'
  );
}

/** Who did it. */
export function actorOf({ subjects, source, type, workload }: AuditRecord): string {
  if (type === 'network_denied' || type === 'secret_access') return workload ?? source.value;
  return (subjects['user'] ?? subjects['client_name'] ?? source.value).replace(/^Local User: /, '');
}

/** Records of the same within a minute. */
export interface Happening extends NumberedAuditRecord {
  times: number;
}

/** Joins neighbors that say the same within the same minute. Keeps the latest one and the number. */
export function joined(records: readonly NumberedAuditRecord[]): Happening[] {
  const found: Happening[] = [];
  let last = '';
  for (const { id, record } of records) {
    const minute = record.logged_at.slice(0, 16);
    const key = JSON.stringify([
      minute,
      sentenceOf(record),
      actorOf(record),
      record.workload,
      record.outcome,
    ]);
    const before = found.at(-1);
    if (before !== undefined && key === last)
      found[found.length - 1] = { ...before, times: before.times + 1 };
    else found.push({ id, record, times: 1 });
    last = key;
  }
  return found;
}
