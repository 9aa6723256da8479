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
  run: 'ran',
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
  execWorkload: ['run', 'a command of'],
  sendExecInput: ['send', 'input to a command of'],
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

/** A type of record: its picture, its words, and the part of the target that follows them. */
interface RecordType {
  icon: IconName;
  phrase: Phrase;
  part?: 'name' | 'method' | 'endpoint';
}

const types: Readonly<Record<string, RecordType>> = {
  mcp_initialize: { icon: 'client', phrase: ['connect'] },
  mcp_tool_call: { icon: 'activity', phrase: ['call'], part: 'name' },
  mcp_tools_list: { icon: 'activity', phrase: ['list', 'the tools'] },
  mcp_resource_read: { icon: 'files', phrase: ['read'], part: 'name' },
  mcp_resources_list: { icon: 'files', phrase: ['list', 'the resources'] },
  mcp_prompt_get: { icon: 'activity', phrase: ['use', 'the prompt'], part: 'name' },
  mcp_prompts_list: { icon: 'activity', phrase: ['list', 'the prompts'] },
  mcp_ping: { icon: 'activity', phrase: ['send', 'a ping'] },
  mcp_logging: { icon: 'settings', phrase: ['change', 'the log level'] },
  mcp_completion: { icon: 'activity', phrase: ['complete', 'an argument'] },
  mcp_notification: { icon: 'activity', phrase: ['send', 'the notification'], part: 'method' },
  mcp_roots_list_changed: { icon: 'files', phrase: ['change', 'the roots'] },
  mcp_request: { icon: 'activity', phrase: ['send', 'the request'], part: 'method' },
  http_request: { icon: 'network', phrase: ['send', 'the request'], part: 'endpoint' },
  sse_connection: { icon: 'network', phrase: ['open', 'an event stream'] },
  network_denied: { icon: 'network', phrase: ['reach'], part: 'endpoint' },
  secret_access: { icon: 'secrets', phrase: ['receive', 'the secret'], part: 'name' },
  audit_gap: { icon: 'warning', phrase: ['lose', 'records'] },
};

/** A record as a sentence without its subject. An action without success was only tried. */
export function sentenceOf({ type, outcome, target = {} }: AuditRecord): string {
  const { method = '', name, endpoint } = target;
  const known = typeOf(type);
  const phrase = type === 'api_call' ? operationOf(method) : known?.phrase;
  // Of another version, or refused before it reached an operation.
  if (phrase === undefined)
    return [method === '' ? type : method, name ?? endpoint].filter(Boolean).join(' ');
  const [verb, object, rest] = phrase;
  const did = outcome === 'success' || type === 'audit_gap';
  const part = known?.part === undefined ? undefined : target[known.part];
  return [did ? past[verb] : `tried to ${verb}`, object, known === undefined ? name : part, rest]
    .filter(Boolean)
    .join(' ');
}

const typeOf = (type: string): RecordType | undefined =>
  Object.hasOwn(types, type) ? types[type] : undefined;

const operationOf = (id: string): Phrase | undefined =>
  Object.hasOwn(operations, id) ? operations[id as OperationId] : undefined;

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
  const verb = operationOf(target['method'] ?? '')?.[0] ?? '';
  return typeOf(type)?.icon ?? pictures[verb] ?? pictures[target['type'] ?? ''] ?? 'settings';
}

/** Who did it. The user of this machine keeps the mark that tells them from a caller with the same name. */
export function actorOf({ subjects, source, type, workload }: AuditRecord): string {
  if (type === 'network_denied' || type === 'secret_access') return workload ?? source.value;
  return subjects['user'] ?? subjects['client_name'] ?? source.value;
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
