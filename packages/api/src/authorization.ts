import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiAction, ApiPolicies, ApiResource } from '@toolhive/access/api-policies';
import type { Core } from '@toolhive/core/core';
import { forbidden } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import type { Principal } from '@toolhive/proxy/principal';
import type { Context } from 'hono';
import { uiPrincipal } from './guards.ts';

/** Operations that only read, although they are not GET requests. */
const reading: readonly Operation[] = [operations.writeRecipe, operations.checkAuthorization];

/** Operations that return recorded bodies, which a caller that only reads the state of workloads does not need. */
const withBodies: readonly Operation[] = [operations.getTrafficEntry];

const actions = new Map<Operation, ApiAction>(
  Object.entries<Operation>(operations).map(([id, operation]) => {
    if (withBodies.includes(operation)) return [operation, { id, kind: 'bodies' }];
    // The stream of a relayed session contains data that a read-only caller cannot request.
    const isRead =
      (operation.method === 'GET' && operation.passThrough !== true) || reading.includes(operation);
    return [operation, { id, kind: isRead ? 'read' : 'write' }];
  }),
);

/** Every operation that policies of the API can name. */
export const apiActions: readonly ApiAction[] = [...actions.values()];

interface Input {
  params?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
}

/** Lists that contain only items that the caller can read, instead of an allowed or denied list. */
const filtered: readonly Operation[] = [
  operations.listWorkloads,
  operations.listGroups,
  operations.listUsage,
  operations.listTools,
];

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
    if (this.#policies === undefined || isOwner(context) || filtered.includes(operation)) return;
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
