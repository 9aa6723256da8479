import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiAction, ApiPolicies, ApiResource } from '@toolhive/access/api-policies';
import type { Core } from '@toolhive/core/core';
import { forbidden } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { Operation, OperationAccess } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import type { Principal } from '@toolhive/proxy/principal';
import type { Context } from 'hono';
import { uiPrincipal } from './guards.ts';

/** The group of operations that policies can name, for each kind of access. */
const kinds: Record<OperationAccess, ApiAction['kind']> = {
  read: 'read',
  'read-items': 'read',
  'read-bodies': 'bodies',
  write: 'write',
};

const actions = new Map<Operation, ApiAction>(
  Object.entries<Operation>(operations).map(([id, operation]) => [
    operation,
    { id, kind: kinds[operation.access] },
  ]),
);

/** Every operation that policies of the API can name. */
export const apiActions: readonly ApiAction[] = [...actions.values()];

interface Input {
  params?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
}

/** Whether a browser calls that the user of this daemon has signed in, as over the Unix socket. */
function isOwner(context: Context): boolean {
  return context.get('principal') === uiPrincipal;
}

type VisibleKind = 'Workload' | 'Bodies' | 'Group';

/** Whether the caller can read something: a group by its name, everything else by the name of the workload. */
export type IsVisible = (kind: VisibleKind, name: string) => boolean;

/** How long one request is decided about before everything else gets its turn. */
const turnMs = 4;

/** Authorizes API callers. Without policies, everything is allowed. */
export class ApiAuthorization {
  readonly #core: Core;
  readonly #policies: ApiPolicies | undefined;

  constructor(core: Core, policies: ApiPolicies | undefined) {
    this.#core = core;
    this.#policies = policies;
  }

  /**
   * Throws `forbidden` unless the caller may do this with everything that it is about. A request can name thousands of
   * workloads, so other requests get their turn between the decisions.
   */
  async require(context: Context, operation: Operation, input: Input): Promise<void> {
    if (this.#policies === undefined || isOwner(context) || operation.access === 'read-items') return;
    let startedMs = performance.now();
    for (const resource of this.#resourcesOf(operation, input)) {
      if (!this.#isAllowed(context, operation, resource)) throw deniedFor(operation, resource);
      if (performance.now() - startedMs < turnMs) continue;
      await nextTurn();
      context.req.raw.signal.throwIfAborted();
      startedMs = performance.now();
    }
  }

  /** Returns a function that tells whether the caller can read a workload, its recorded bodies, or a group. */
  visibility(context: Context): IsVisible {
    if (this.#policies === undefined || isOwner(context)) return () => true;
    const readers: Record<VisibleKind, (name: string) => boolean> = {
      Workload: (name) => this.#isAllowed(context, operations.getWorkload, this.#workload(name)),
      Bodies: (name) => this.#isAllowed(context, operations.getTrafficEntry, this.#workload(name)),
      Group: (name) => this.#isAllowed(context, operations.getGroup, { type: 'Group', name }),
    };
    return (kind, name) => readers[kind](name);
  }

  #isAllowed(context: Context, operation: Operation, resource: ApiResource): boolean {
    const action = actions.get(operation);
    const principal = context.get('principal') as Principal | undefined;
    if (action === undefined || principal === undefined) return false;
    return this.#policies?.isAllowed(principal, action, resource) === true;
  }

  #workload(name: string): ApiResource {
    const runConfig = this.#core.workloads.find(name)?.runConfig;
    return { type: 'Workload', name, group: runConfig && (runConfig.group ?? defaultGroup) };
  }

  #resourcesOf(operation: Operation, { params = {}, body }: Input): ApiResource[] {
    const { names, name, group, groups } = (body ?? {}) as {
      names?: unknown;
      name?: unknown;
      group?: unknown;
      groups?: unknown;
    };
    const inGroup = (of: unknown): ApiResource => ({ type: 'Group', name: String(of) });
    const found: ApiResource[] = [];
    if (/^\/workloads(\/|$)/.test(operation.path)) {
      if (typeof params['name'] === 'string') found.push(this.#workload(params['name']));
      if (operation === operations.createWorkload || operation === operations.editWorkload)
        found.push(inGroup(group === undefined || group === '' ? defaultGroup : group));
      else if (Array.isArray(names))
        for (const one of new Set(names)) found.push(this.#workload(String(one)));
      else if (typeof group === 'string' && group !== '') found.push(inGroup(group));
    } else if (/^\/groups(\/|$)/.test(operation.path)) {
      if (params['name'] !== undefined) found.push(inGroup(params['name']));
      if (name !== undefined) found.push(inGroup(name));
    } else if (/^\/clients(\/|$)/.test(operation.path)) {
      if (params['group'] !== undefined) found.push(inGroup(params['group']));
      if (Array.isArray(groups)) found.push(...groups.map(inGroup));
    }
    return found.length === 0 ? [{ type: 'System' }] : found;
  }
}

function deniedFor(operation: Operation, resource: ApiResource): Error {
  const about = resource.type === 'System' ? '' : ` for ${resource.type.toLowerCase()} ${resource.name}`;
  return forbidden(`no policy allows ${actions.get(operation)?.id ?? operation.path}${about}`);
}
