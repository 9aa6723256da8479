import { invalid } from '@toolhive/contract/failure';
import type { AuthzConfig } from '@toolhive/contract/authorization';
import type { AccessAction, AccessQuestion, Authorizer } from '@toolhive/proxy/authorization';
import type { CedarValueJson, DetailedError, EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar, loadCedar } from './cedar.ts';
import { argumentsReadBy } from './policy-arguments.ts';
import type { ReadArguments } from './policy-arguments.ts';

/** What policies decide, and because of which of them. */
export interface PolicyDecision {
  isAllowed: boolean;
  /** The policies that decided. Empty if no policy allows it. */
  policies: readonly string[];
  /** Why policies could not be evaluated. Each error is a denial. */
  errors: readonly string[];
}

/** Cedar entity types of what a server offers, by action. */
const resourceTypes: Record<AccessAction, string> = {
  call_tool: 'Tool',
  get_prompt: 'Prompt',
  read_resource: 'Resource',
};

/** What a tool is taken for that the server says nothing about (MCP 2025-11-25, ToolAnnotations). */
const defaultHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

/** How many decisions are remembered for one token. */
const maxDecisions = 5_000;
/** Decisions about longer arguments are not remembered. */
const maxKeyLength = 1_000;

/** Prepared policies have names in the Cedar engine, which never forgets one. Those of policies that ended are used again. */
const freeNames: string[] = [];
let lastName = 0;

/** The Cedar policies of one workload, ready to decide. Must be disposed of. */
export class Policies implements Authorizer, Disposable {
  readonly #name: string;
  readonly #texts: Readonly<Record<string, string>>;
  readonly #given: ReadonlyMap<string, EntityJson>;
  readonly #reads: ReadArguments;
  /** Decisions by the claims of a token: the same object as long as the token is accepted. */
  #decisions = new WeakMap<object, Map<string, PolicyDecision>>();

  private constructor(config: AuthzConfig) {
    const policies = policyTexts(config);
    checkPolicies(policies);
    this.#texts = policies;
    this.#given = new Map(entitiesOf(config).map((entity) => [keyOf(typeAndId(entity.uid)), entity]));
    this.#reads = argumentsReadBy(Object.values(policies));
    this.#name = freeNames.pop() ?? `policies${++lastName}`;
    const answer = cedar().preparsePolicySet(this.#name, { staticPolicies: policies });
    if (answer.type === 'failure') throw invalid(`the policies are invalid: ${answer.errors[0]?.message}`);
  }

  /** Throws `invalid` with the place of the first mistake. */
  static async open(config: AuthzConfig): Promise<Policies> {
    await loadCedar();
    return new Policies(config);
  }

  [Symbol.dispose](): void {
    freeNames.push(this.#name);
  }

  /** The text of a policy by its ID. */
  textOf(id: string): string {
    return this.#texts[id] ?? '';
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
    // Who is not named cannot be allowed anything.
    if (typeof subject !== 'string' || subject === '') return denied('the token has no subject (sub)');
    const claims = claimsOf(principal.claims ?? {});
    const given = argumentsOf(this.#reads.of(question.arguments ?? {}));
    const ids = {
      principal: { type: 'Client', id: subject },
      action: { type: 'Action', id: action },
      resource: { type: resourceTypes[action], id: action === 'read_resource' ? sanitized(target) : target },
    };
    const entities = new Map(this.#given);
    this.#put(entities, ids.principal, claims);
    this.#put(entities, ids.action, { operation: action });
    this.#put(entities, ids.resource, { ...resourceAttributes(question, ids.resource.id), ...given });
    const answer = cedar().statefulIsAuthorized({
      ...ids,
      context: { ...claims, ...given },
      preparsedPolicySetId: this.#name,
      entities: [...entities.values()],
      validateRequest: false,
    });
    if (answer.type === 'failure') return denied(answer.errors.map(({ message }) => message).join('; '));
    const { decision, diagnostics } = answer.response;
    const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`);
    return {
      isAllowed: decision === 'allow' && errors.length === 0,
      policies: diagnostics.reason.toSorted(),
      errors,
    };
  }

  /** Adds the attributes of an entity to those in the configuration, which keep their parents. */
  #put(entities: Map<string, EntityJson>, uid: TypeAndId, attrs: Record<string, CedarValueJson>): void {
    const given = this.#given.get(keyOf(uid));
    entities.set(keyOf(uid), { uid, attrs: { ...given?.attrs, ...attrs }, parents: given?.parents ?? [] });
  }
}

/** Throws `invalid` for policies that Cedar cannot read or that name what does not exist, with line and column. */
function checkPolicies(policies: Readonly<Record<string, string>>): void {
  for (const [id, text] of Object.entries(policies)) {
    const answer = cedar().checkParsePolicySet({ staticPolicies: { [id]: text } });
    if (answer.type === 'failure') throw mistake(id, text, answer.errors[0]);
  }
  const answer = cedar().validate({
    schema: { '': schema },
    policies: { staticPolicies: policies },
    validationSettings: { mode: 'strict' },
  });
  if (answer.type === 'failure') throw invalid(`the policies are invalid: ${answer.errors[0]?.message}`);
  // What callers and arguments have is not known before there are any, so nothing is said about attributes.
  const wrong = answer.validationErrors.find(({ error }) => error.message.includes('unrecognized '));
  if (wrong !== undefined) throw mistake(wrong.policyId, policies[wrong.policyId] ?? '', wrong.error);
}

/** What a policy can be about. */
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

function policyTexts({ cedar: config }: AuthzConfig): Record<string, string> {
  const policies = config?.policies ?? [];
  if (policies.length === 0) {
    throw invalid('the authorization configuration has no policies', {
      hint: 'add at least one to cedar.policies: without any, nothing would be allowed',
    });
  }
  return Object.fromEntries(policies.map((text, index) => [`policy${index}`, text]));
}

function entitiesOf({ cedar: config }: AuthzConfig): EntityJson[] {
  const text = config?.entities_json;
  if (text === undefined || text.trim() === '') return [];
  let entities: unknown;
  try {
    entities = JSON.parse(text);
  } catch (cause) {
    throw invalid('cedar.entities_json is not JSON', { cause });
  }
  const answer = cedar().checkParseEntities({ entities: entities as EntityJson[] });
  if (answer.type === 'failure')
    throw invalid(`cedar.entities_json is invalid: ${answer.errors[0]?.message ?? ''}`);
  return entities as EntityJson[]; // checked by Cedar
}

function mistake(id: string, text: string, error: DetailedError | undefined): Error {
  const { message = 'it cannot be read', help, sourceLocations = [] } = error ?? {};
  const [place] = sourceLocations;
  const before = Buffer.from(text)
    .subarray(0, place?.start ?? 0)
    .toString(); // Cedar counts bytes
  const line = before.split('\n').length;
  const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1;
  const what = message.replace(/^failed to parse policy with id `\w+` from string: |^for policy `\w+`, /, '');
  const label = place?.label;
  return invalid(`cedar.policies has a mistake in ${id}, line ${line}, column ${column}: ${what}`, {
    hint: help ?? label ?? 'see https://docs.cedarpolicy.com for the language',
  });
}

function denied(why: string): PolicyDecision {
  return { isAllowed: false, policies: [], errors: [why] };
}

function typeAndId(uid: EntityJson['uid']): TypeAndId {
  return '__entity' in uid ? uid.__entity : uid;
}

const keyOf = ({ type, id }: TypeAndId): string => JSON.stringify([type, id]);

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

/** Objects are left out: attributes of tokens have no types that policies could rely on. */
function claimsOf(claims: Readonly<Record<string, unknown>>): Record<string, CedarValueJson> {
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) => {
      const written = valueOf(value);
      return written === undefined ? [] : [[`claim_${name}`, written]];
    }),
  );
}

/** Of arguments that are no scalars, policies only see that they are there. */
function argumentsOf(given: Readonly<Record<string, unknown>>): Record<string, CedarValueJson> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const written = Array.isArray(value) ? undefined : valueOf(value);
      return written === undefined ? [`arg_${name}_present`, true] : [`arg_${name}`, written];
    }),
  );
}

/** Numbers are decimals, as in the original. */
function valueOf(value: unknown): CedarValueJson | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return decimalOf(value);
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((one: unknown) => (Array.isArray(one) ? [] : (valueOf(one) ?? [])));
}

/** A Cedar decimal has at most four digits after the point. A number that has no such form is left out. */
function decimalOf(value: number): CedarValueJson | undefined {
  if (!Number.isFinite(value) || Math.abs(value) >= 922_337_203_685_477) return undefined;
  const text = value.toFixed(4);
  return Number(text) === value ? { __extn: { fn: 'decimal', arg: text } } : undefined;
}
