import type { AuthzConfig } from '@toolhive/contract/authorization';
import { invalid } from '@toolhive/contract/failure';
import type {
  CedarValueJson,
  DetailedError,
  EntityJson,
  SchemaJson,
  TypeAndId,
  ValidationError,
} from '@cedar-policy/cedar-wasm/nodejs';
import { cedar, loadCedar } from './cedar.ts';
import { claimValueOf } from './cedar-values.ts';
import { hintForName, policyContentOf } from './policy-config.ts';
import { ReadFacts } from './policy-reads.ts';

/** What policies decide, and because of which of them. */
export interface PolicyDecision {
  isAllowed: boolean;
  /** The deciding policies. Empty if no policy allows the request. */
  policies: readonly string[];
  /** Why policies could not be evaluated. Each error is a denial. */
  errors: readonly string[];
}

type Attributes = Readonly<Record<string, CedarValueJson>>;

/** An entity with the attributes that are known, and its parents. */
export interface KnownEntity {
  uid: TypeAndId;
  attributes?: Attributes;
  parents?: readonly TypeAndId[];
}

export interface PolicyRequest {
  principal: KnownEntity;
  action: KnownEntity;
  resource: KnownEntity;
  context: Attributes;
}

/** The entity types and actions that policies can name. */
export type PolicySchema = SchemaJson<string>[''];

/** The maximum number of reported warnings. */
const maxDoubts = 20;

/** Prepared policies have names in the Cedar engine, which never forgets one. Those of policies that ended are used again. */
const freeNames: string[] = [];
let lastName = 0;

/** Cedar policies that are ready to decide. Must be disposed of. */
export class PolicySet implements Disposable {
  readonly #name: string;
  readonly #texts: Readonly<Record<string, string>>;
  readonly #given: ReadonlyMap<string, EntityJson>;
  /** The facts that the policies read. */
  readonly reads: ReadFacts;

  private constructor(config: AuthzConfig, schema: NonNullable<PolicySchema>) {
    const { texts, entities } = policyContentOf(config);
    this.#texts = texts;
    this.#given = new Map(entities.map((entity) => [keyOf(typeAndId(entity.uid)), entity]));
    checkPolicies(this.#texts, this.#withGivenTypes(schema));
    this.reads = new ReadFacts(this.#texts);
    this.#name = freeNames.pop() ?? `policies${++lastName}`;
    const answer = cedar().preparsePolicySet(this.#name, { staticPolicies: this.#texts });
    if (answer.type === 'failure') throw invalid(`the policies are invalid: ${answer.errors[0]?.message}`);
  }

  /** Throws `invalid` with the place of the first mistake. */
  static async open(config: AuthzConfig, schema: NonNullable<PolicySchema>): Promise<PolicySet> {
    await loadCedar();
    return new PolicySet(config, schema);
  }

  [Symbol.dispose](): void {
    freeNames.push(this.#name);
  }

  get texts(): Readonly<Record<string, string>> {
    return this.#texts;
  }

  /**
   * Validates the policies against a stricter schema. `describe` converts a problem to a warning, or to undefined to
   * ignore it. Each warning has a position, and at most `maxDoubts` are returned.
   */
  doubts(
    schema: NonNullable<PolicySchema>,
    describe: (message: string) => string | undefined,
  ): readonly string[] {
    const found = new Set<string>();
    for (const { policyId, error } of mistakesIn(this.#texts, this.#withGivenTypes(schema))) {
      const what = describe(error.message);
      if (what !== undefined) found.add(`${placeOf(policyId, this.#texts[policyId] ?? '', error)}: ${what}`);
      if (found.size === maxDoubts) break;
    }
    return [...found];
  }

  /** Whether the policies or the configuration can name entities of this type. */
  names(type: string): boolean {
    const texts = [...Object.values(this.#texts), ...this.#given.keys()];
    return texts.some((text) => text.includes(type));
  }

  /** The names of the attributes that the configuration gives to entities. */
  attributesGiven(): ReadonlySet<string> {
    return new Set([...this.#given.values()].flatMap(({ attrs }) => Object.keys(attrs)));
  }

  decide({ principal, action, resource, context }: PolicyRequest): PolicyDecision {
    const entities = new Map(this.#given);
    for (const entity of [principal, action, resource]) this.#put(entities, entity);
    const answer = cedar().statefulIsAuthorized({
      principal: principal.uid,
      action: action.uid,
      resource: resource.uid,
      context,
      preparsedPolicySetId: this.#name,
      entities: [...entities.values()],
      validateRequest: false,
    });
    if (answer.type === 'failure') return deniedFor(answer.errors.map(({ message }) => message).join('; '));
    const { decision, diagnostics } = answer.response;
    const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`);
    return {
      isAllowed: decision === 'allow' && errors.length === 0,
      policies: diagnostics.reason.toSorted(),
      errors,
    };
  }

  /** Policies can also name the entity types of the configuration, such as groups of principals. */
  #withGivenTypes(schema: NonNullable<PolicySchema>): NonNullable<PolicySchema> {
    const given = [...this.#given.values()].map(({ uid }) => [typeAndId(uid).type, {}]);
    return { ...schema, entityTypes: { ...Object.fromEntries(given), ...schema.entityTypes } };
  }

  /** Merges runtime facts about an entity with its configuration. */
  #put(entities: Map<string, EntityJson>, { uid, attributes = {}, parents = [] }: KnownEntity): void {
    const given = this.#given.get(keyOf(uid));
    entities.set(keyOf(uid), {
      uid,
      attrs: { ...given?.attrs, ...attributes },
      parents: [...(given?.parents ?? []), ...parents],
    });
  }
}

/** A denial for a reason other than policies. */
export function deniedFor(why: string): PolicyDecision {
  return { isAllowed: false, policies: [], errors: [why] };
}

/** Returns the claims of a token as attributes. Objects are left out: a policy that reads them denies. */
export function claimsOf(claims: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) => {
      const written = claimValueOf(value);
      return written === undefined ? [] : [[`claim_${name}`, written]];
    }),
  );
}

/** Throws `invalid` for policies that Cedar cannot read or that name what does not exist, with line and column. */
function checkPolicies(policies: Readonly<Record<string, string>>, schema: NonNullable<PolicySchema>): void {
  for (const [id, text] of Object.entries(policies)) {
    const answer = cedar().checkParsePolicySet({ staticPolicies: { [id]: text } });
    if (answer.type === 'failure') throw mistake(id, text, answer.errors[0]);
  }
  // The attributes of callers and arguments are not known before there are any, so only names are checked.
  const wrong = mistakesIn(policies, schema).find(({ error }) => error.message.includes('unrecognized '));
  if (wrong !== undefined) throw mistake(wrong.policyId, policies[wrong.policyId] ?? '', wrong.error);
}

function mistakesIn(
  policies: Readonly<Record<string, string>>,
  schema: NonNullable<PolicySchema>,
): readonly ValidationError[] {
  const answer = cedar().validate({
    schema: { '': schema },
    policies: { staticPolicies: policies },
    validationSettings: { mode: 'strict' },
  });
  if (answer.type === 'failure') throw invalid(`the policies are invalid: ${answer.errors[0]?.message}`);
  return answer.validationErrors;
}

function mistake(id: string, text: string, error: DetailedError | undefined): Error {
  const { message = 'the policy could not be read', help, sourceLocations = [] } = error ?? {};
  const what = message.replace(/^failed to parse policy with id `\w+` from string: |^for policy `\w+`, /, '');
  return invalid(`cedar.policies has a mistake in ${placeOf(id, text, error)}: ${what}`, {
    hint:
      hintForName(what) ??
      help ??
      sourceLocations[0]?.label ??
      'see https://docs.cedarpolicy.com for the language',
  });
}

function placeOf(id: string, text: string, error: DetailedError | undefined): string {
  const before = Buffer.from(text)
    .subarray(0, error?.sourceLocations?.[0]?.start ?? 0)
    .toString(); // Cedar counts bytes
  const line = before.split('\n').length;
  const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1;
  return `${id}, line ${line}, column ${column}`;
}

function typeAndId(uid: EntityJson['uid']): TypeAndId {
  return '__entity' in uid ? uid.__entity : uid;
}

const keyOf = ({ type, id }: TypeAndId): string => JSON.stringify([type, id]);
