import type { IncomingMessage } from 'node:http';
import { recordOperation } from '@toolhive/audit/actions';
import type { ApiCaller } from '@toolhive/audit/actions';
import type { Core } from '@toolhive/core/core';
import { ThvError } from '@toolhive/contract/failure';
import type { AuditOutcome } from '@toolhive/contract/audit';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import type { Principal } from '@toolhive/proxy/principal';
import type { Context } from 'hono';
import { expectedFailure } from './failures.ts';
import type { RecordCall } from './mount.ts';

type Log = Core['audit'];

const ids = new Map(Object.entries(operations).map(([id, operation]) => [operation as Operation, id]));

/** Operations that only read, although they are not GET requests. */
const reading: readonly Operation[] = [
  operations.writeRecipe,
  operations.checkWorkload,
  operations.previewImport,
];
/** Operations that read something that is worth a record. */
const telling: readonly Operation[] = [operations.readSecret];

/** Returns a function that records every API call that changes state or reads a secret. */
export function callRecorder(log: Log): RecordCall {
  return ({ operation, context, startMs, input, result }, thrown) => {
    // Calls that pass through are recorded by the workload, as its audit configuration says, unless they are denied here.
    const isRelayed = operation.passThrough === true && !isDenial(thrown);
    const isChange = operation.method !== 'GET' && !reading.includes(operation) && !isRelayed;
    if (!isChange && !telling.includes(operation)) return;
    const name = nameIn(input?.params) ?? nameIn(input?.body) ?? nameIn(result);
    recordOperation(log, {
      operation: ids.get(operation) ?? operation.path,
      path: context.req.path,
      kind: operation.tag,
      name,
      workload: operation.tag === 'workloads' ? name : undefined,
      outcome: outcomeOf(thrown),
      reason: reasonOf(thrown),
      durationMs: performance.now() - startMs,
      caller: callerOf(context, { isLocalUser: true }),
    });
    context.set('isRecorded', true);
  };
}

const denied: readonly unknown[] = ['unauthorized', 'forbidden'];
const isDenial = (error: unknown): boolean => error instanceof ThvError && denied.includes(error.kind);

/** Records a request that was denied before it reached an operation. */
export function recordRefusal(log: Log, context: Context, error: unknown): void {
  if (!isDenial(error) || context.get('isRecorded') === true) return;
  recordOperation(log, {
    operation: context.req.method,
    path: context.req.path,
    kind: 'endpoint',
    name: undefined,
    workload: undefined,
    outcome: 'denied',
    reason: reasonOf(error),
    durationMs: 0,
    caller: callerOf(context, { isLocalUser: false }),
  });
}

function outcomeOf(thrown: unknown): AuditOutcome {
  if (thrown === undefined) return 'success';
  if (isDenial(thrown)) return 'denied';
  return expectedFailure(thrown) === undefined ? 'error' : 'failure';
}

/** The error message for the client, without details of a bug. */
function reasonOf(thrown: unknown): string | undefined {
  return thrown === undefined ? undefined : (expectedFailure(thrown)?.message ?? 'internal error');
}

/** Without authentication, the caller of an operation is the user of this machine. A denied one can be a web page. */
function callerOf(context: Context, { isLocalUser }: { isLocalUser: boolean }): ApiCaller {
  const { incoming } = (context.env ?? {}) as { incoming?: IncomingMessage }; // from @hono/node-server
  const principal = context.get('principal') as Principal | undefined;
  return {
    principal: principal ?? { id: '' },
    isLocalUser,
    address: incoming?.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, ''),
    userAgent: context.req.header('user-agent'),
  };
}

/** The object of an operation, from its parameters and body. Never contains a secret value. */
function nameIn(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { name, key, serverName, names, group } = part as Record<string, unknown>;
  const found = name ?? key ?? serverName ?? (Array.isArray(names) ? names.join(', ') : undefined) ?? group;
  return typeof found === 'string' && found !== '' ? found : undefined;
}
