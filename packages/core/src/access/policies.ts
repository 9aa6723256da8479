import type { AuthzConfig } from '@toolhive/contract/authorization';
import type { AccessAction, AccessQuestion, Authorizer } from '@toolhive/proxy/authorization';
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { defaultHints } from './hints.ts';
import { argumentsReadBy } from './policy-arguments.ts';
import type { ReadArguments } from './policy-arguments.ts';
import { PolicySet, cedarValueOf, claimsOf, deniedFor } from './policy-set.ts';
import type { PolicyDecision } from './policy-set.ts';

/** The Cedar entity types of a server's items, by action. */
const resourceTypes: Record<AccessAction, string> = {
  call_tool: 'Tool',
  get_prompt: 'Prompt',
  read_resource: 'Resource',
};

/** What policies can be about. */
const action = (resource: string) => ({
  appliesTo: { principalTypes: ['Client'], resourceTypes: [resource] },
});
const schema = {
  entityTypes: { Client: {}, Tool: {}, Prompt: {}, Resource: {}, FeatureType: {} },
  actions: {
    call_tool: action('Tool'),
    get_prompt: action('Prompt'),
    read_resource: action('Resource'),
    list_tools: action('FeatureType'),
    list_prompts: action('FeatureType'),
    list_resources: action('FeatureType'),
  },
};

/** A server's items, by Cedar entity type. Absent for unknown lists. */
export type OfferedItems = { [type in 'Tool' | 'Prompt' | 'Resource']?: readonly string[] | undefined };

/** The attributes of everything that a server offers. */
const attributes: ReadonlySet<string> = new Set([
  'name',
  'operation',
  'feature',
  'uri',
  ...Object.keys(defaultHints),
]);

/** How many decisions are remembered for one token. */
const maxDecisions = 5_000;
/** Decisions about longer arguments are not remembered. */
const maxKeyLength = 1_000;

/** The Cedar policies of one workload, ready to decide. Must be disposed of. */
export class Policies implements Authorizer, Disposable {
  readonly #set: PolicySet;
  readonly #reads: ReadArguments;
  /** Decisions by the claims of a token: the same object as long as the token is accepted. */
  readonly #decisions = new WeakMap<object, Map<string, PolicyDecision>>();

  private constructor(set: PolicySet) {
    this.#set = set;
    this.#reads = argumentsReadBy(Object.values(set.texts));
  }

  /** Throws `invalid` with the place of the first mistake. */
  static async open(config: AuthzConfig): Promise<Policies> {
    return new Policies(await PolicySet.open(config, schema));
  }

  [Symbol.dispose](): void {
    this.#set[Symbol.dispose]();
  }

  /** The text of a policy by its ID. */
  textOf(id: string): string {
    return this.#set.texts[id] ?? '';
  }

  /** Returns the names in the policies that the server does not offer, with line and column. */
  doubtsAbout(offered: OfferedItems): readonly string[] {
    const given = this.#set.attributesGiven();
    const isKnown = (name: string): boolean =>
      attributes.has(name) || name.startsWith('arg_') || given.has(name);
    return this.#set.doubts(schemaOf(offered), (message) => {
      const [, entity] = /entity `(.+)` is of an enumerated entity type/s.exec(message) ?? [];
      if (entity !== undefined) return `the server does not offer ${entity}`;
      const [, name] =
        /attribute `(.+)` on entity type `(?:Tool|Prompt|Resource)` not found/s.exec(message) ?? [];
      if (name === undefined || isKnown(name)) return undefined;
      return `tools, prompts, and resources have no attribute ${name}`;
    });
  }

  isAllowed(question: AccessQuestion): boolean {
    return this.decide(question).isAllowed;
  }

  /** Decides, and names the policies. Decisions that depend on the same facts are made once. */
  decide(question: AccessQuestion): PolicyDecision {
    const { claims } = question.principal;
    const key = this.#keyOf(question);
    if (claims === undefined || key.length > maxKeyLength) return this.#evaluate(question);
    let known = this.#decisions.get(claims);
    if (known === undefined) this.#decisions.set(claims, (known = new Map<string, PolicyDecision>()));
    const before = known.get(key);
    if (before !== undefined) return before;
    const decision = this.#evaluate(question);
    if (known.size >= maxDecisions) known.clear();
    known.set(key, decision);
    return decision;
  }

  #keyOf({ action, target, arguments: given = {}, annotations = {} }: AccessQuestion): string {
    const hints = Object.keys(defaultHints).map((name) => annotations[name]);
    return JSON.stringify([action, target, hints, this.#reads.of(given)]);
  }

  #evaluate(question: AccessQuestion): PolicyDecision {
    const { principal, action, target } = question;
    const subject = principal.claims?.['sub'];
    // A caller without a name cannot be allowed anything.
    if (typeof subject !== 'string' || subject === '') return deniedFor('the token has no subject (sub)');
    const claims = claimsOf(principal.claims ?? {});
    const given = argumentsOf(this.#reads.of(question.arguments ?? {}));
    const id = action === 'read_resource' ? sanitized(target) : target;
    return this.#set.decide({
      principal: { uid: { type: 'Client', id: subject }, attributes: claims },
      action: { uid: { type: 'Action', id: action }, attributes: { operation: action } },
      resource: {
        uid: { type: resourceTypes[action], id },
        attributes: { ...resourceAttributes(question, id), ...given },
      },
      context: { ...claims, ...given },
    });
  }
}

/** The schema with the things that a server offers. Enumerated entities have no attributes in Cedar. */
function schemaOf(offered: OfferedItems): typeof schema {
  const enumerated = Object.entries(offered).flatMap(([type, names]) => {
    if (names === undefined) return [];
    const ids = type === 'Resource' ? names.map(sanitized) : names;
    return [[type, { enum: ids.length === 0 ? [nothing] : ids }]];
  });
  return { ...schema, entityTypes: { ...schema.entityTypes, ...Object.fromEntries(enumerated) } };
}

/** An enumeration needs a member. */
const nothing = '\0';

/** URIs in policies are written with underscores, as in the original. The attribute `uri` has the URI itself. */
function sanitized(uri: string): string {
  return uri.replace(/[:/\\?&=# .]/g, '_');
}

function resourceAttributes(
  { action: operation, target, annotations = {} }: AccessQuestion,
  id: string,
): Record<string, CedarValueJson> {
  const common = { name: id, operation, feature: resourceTypes[operation].toLowerCase() };
  if (operation === 'read_resource') return { ...common, uri: target };
  if (operation !== 'call_tool') return common;
  const hints = Object.entries(defaultHints).map(([name, value]) => {
    const said = annotations[name];
    return [name, typeof said === 'boolean' ? said : value];
  });
  return { ...common, ...(Object.fromEntries(hints) as Record<string, boolean>) };
}

/** Policies see only the presence of arguments that are not scalars. */
function argumentsOf(given: Readonly<Record<string, unknown>>): Record<string, CedarValueJson> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const written = Array.isArray(value) ? undefined : cedarValueOf(value);
      return written === undefined ? [`arg_${name}_present`, true] : [`arg_${name}`, written];
    }),
  );
}
