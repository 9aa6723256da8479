import type { AuditOutcome } from '@toolhive/contract/audit';
import { userOf } from '@toolhive/proxy/audit';
import type { AuditEntry } from '@toolhive/proxy/audit';
import type { Principal } from '@toolhive/proxy/principal';
import type { AuditLog } from './audit-log.ts';

/** A call of the API that changes something, reads a secret, or was denied. */
export interface AuditedOperation {
  /** The operation ID, or the HTTP method of a request that was denied before reaching an operation. */
  operation: string;
  path: string;
  /** The kind of object. */
  kind: string;
  /** The name of the object. */
  name: string | undefined;
  workload: string | undefined;
  outcome: AuditOutcome;
  reason: string | undefined;
  durationMs: number;
  caller: ApiCaller;
}

/** Who calls the API, as far as that is known. */
export interface ApiCaller {
  principal: Principal;
  /** A caller without an ID is the user of this machine. */
  isLocalUser: boolean;
  /** The client address. Undefined on the daemon's Unix socket. */
  address: string | undefined;
  userAgent: string | undefined;
}

/** The component of everything that no workload does, as in the original. */
const component = 'toolhive-api';
const maxText = 512;

/** Records a call of the API. */
export function recordOperation(log: AuditLog, made: AuditedOperation): void {
  const { operation, path, kind, name, workload, outcome, reason, durationMs, caller } = made;
  const { principal, isLocalUser, address, userAgent } = caller;
  const entry: AuditEntry = {
    type: 'api_call',
    outcome,
    component,
    source: {
      type: address === undefined ? 'local' : 'network',
      value: address ?? 'socket',
      ...(userAgent === undefined ? {} : { extra: { user_agent: userAgent.slice(0, maxText) } }),
    },
    subjects: userOf(principal, isLocalUser ? log.localUser : undefined),
    target: {
      endpoint: path.slice(0, maxText),
      method: operation,
      ...(name === undefined ? {} : { name: name.slice(0, maxText) }),
      type: kind,
    },
    metadata: {
      extra: {
        duration_ms: Math.round(durationMs),
        ...(reason === undefined ? {} : { reason: reason.slice(0, maxText) }),
        transport: 'http',
      },
    },
    ...(workload === undefined ? {} : { workload }),
  };
  if (outcome === 'denied') log.recordDenial(entry);
  else log.record(entry);
}

/** Records that a workload received a secret, or did not. Never the value. */
export function recordSecretAccess(
  log: AuditLog,
  workload: string,
  secret: string,
  outcome: 'success' | 'failure',
): void {
  log.record({
    type: 'secret_access',
    outcome,
    component: workload,
    source: { type: 'local', value: 'daemon' },
    subjects: { user: 'toolhive' },
    target: { method: 'read', name: secret.slice(0, maxText), type: 'secret' },
    workload,
  });
}

/** Records that the egress gateway denied a connection of a server. */
export function recordEgressDenial(
  log: AuditLog,
  workload: string,
  { host, port, reason }: { host: string; port?: number | undefined; reason?: string | undefined },
): void {
  log.record({
    type: 'network_denied',
    outcome: 'denied',
    component: workload,
    source: { type: 'workload', value: workload },
    subjects: { user: 'toolhive' },
    target: {
      endpoint: (port === undefined ? host : `${host}:${port}`).slice(0, maxText),
      method: 'connect',
      name: host.slice(0, maxText),
      type: 'host',
    },
    ...(reason === undefined ? {} : { metadata: { extra: { reason: reason.slice(0, maxText) } } }),
    workload,
  });
}
