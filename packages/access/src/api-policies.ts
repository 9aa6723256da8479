import type { AuthzConfig } from '@toolhive/contract/authorization';
import type { Principal } from '@toolhive/proxy/principal';
import { PolicySet, claimsOf } from './policy-set.ts';
import type { KnownEntity } from './policy-set.ts';

/** What an operation of the API is about. */
export type ApiResource =
  | { type: 'Workload'; name: string; group: string | undefined }
  | { type: 'Group'; name: string }
  | { type: 'System' };

/** An operation ID, and the group of operations that policies can name instead. */
export interface ApiAction {
  id: string;
  /** `bodies` are operations that return what clients and servers said to each other. */
  kind: 'read' | 'write' | 'bodies';
}

const system = { type: 'System', id: 'toolhive' };

/** The Cedar policies of the API: which operations callers may use on which workloads. Dispose of it after use. */
export class ApiPolicies implements Disposable {
  readonly #set: PolicySet;

  private constructor(set: PolicySet) {
    this.#set = set;
  }

  /** `actions` are all operations that policies can name. Throws `invalid` with the place of the first mistake. */
  static async open(config: AuthzConfig, actions: readonly ApiAction[]): Promise<ApiPolicies> {
    const appliesTo = { principalTypes: ['Client'], resourceTypes: ['Workload', 'Group', 'System'] };
    const named = actions.map(({ id, kind }) => [id, { appliesTo, memberOf: [{ id: kind }] }] as const);
    return new ApiPolicies(
      await PolicySet.open(config, {
        entityTypes: { Client: {}, Group: {}, System: {}, Workload: { memberOfTypes: ['Group'] } },
        actions: { read: {}, write: {}, bodies: {}, ...Object.fromEntries(named) },
      }),
    );
  }

  [Symbol.dispose](): void {
    this.#set[Symbol.dispose]();
  }

  /** Whether a caller may do that. Every error is a denial. */
  isAllowed({ claims = {} }: Principal, { id, kind }: ApiAction, resource: ApiResource): boolean {
    const { sub } = claims;
    if (typeof sub !== 'string' || sub === '') return false;
    const { uid } = entityOf(resource);
    const scope = { action: id, resourceType: uid.type, resourceId: uid.id };
    if (this.#set.reads.problemWith({ claims }, scope) !== undefined) return false;
    const attributes = claimsOf(claims);
    return this.#set.decide({
      principal: { uid: { type: 'Client', id: sub }, attributes },
      action: { uid: { type: 'Action', id }, parents: [{ type: 'Action', id: kind }] },
      resource: entityOf(resource),
      context: attributes,
    }).isAllowed;
  }
}

function entityOf(resource: ApiResource): KnownEntity {
  if (resource.type === 'System') return { uid: system };
  const { type, name: id } = resource;
  if (type === 'Group') return { uid: { type, id } };
  const { group } = resource;
  return { uid: { type, id }, parents: group === undefined ? [] : [{ type: 'Group', id: group }] };
}
