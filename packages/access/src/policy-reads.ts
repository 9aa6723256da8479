import type { Policy } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';
import { isWholeClaim, typeOf } from './cedar-values.ts';
import type { ScalarType } from './cedar-values.ts';

type Facts = Readonly<Record<string, unknown>>;

/** What decisions can depend on: the members of a call and of a token. */
interface GivenFacts {
  arguments?: Facts | undefined;
  claims: Facts;
}

/** The action and the resource of a request, which the scope of a policy can exclude. */
export interface RequestScope {
  action: string;
  resourceType: string;
  /** Undefined if policies can name the resource in several ways. */
  resourceId: string | undefined;
}

/** A type that a comparison expects: of literals, or the type of another attribute. `other` fits no argument. */
type ExpectedType = ScalarType | 'other' | { attribute: string };

/** How one policy reads an attribute. */
interface Read {
  /** Whether the policy allows more if the attribute seems to be absent, or different. */
  isRisky: boolean;
  /** The types with which such a comparison can be true. Empty if Cedar itself checks the type. */
  types: ExpectedType[];
}

/** A policy, as far as a request can depend on it. */
interface PolicyReads {
  id: string;
  action: string | undefined;
  resource: { type: string; id?: string } | undefined;
  attributes: ReadonlyMap<string, Read>;
  /** Whether the policy uses the context as a whole, so that it can read everything. */
  readsAll: boolean;
}

const prefixes = { argument: 'arg_', claim: 'claim_' } as const;
const suffix = '_present';

/**
 * The arguments and claims that policies read. A policy that forbids a value cannot see a value that Cedar is unable to
 * represent, so requests with such values are refused if a policy reads them.
 */
export class ReadFacts {
  readonly #policies: readonly PolicyReads[];
  /** The names of all arguments that any policy reads. Undefined if that could be each of them. */
  readonly #names: ReadonlySet<string> | undefined;

  /** `policies` are valid, by their ID. */
  constructor(policies: Readonly<Record<string, Policy>>) {
    this.#policies = Object.entries(policies).map(([id, policy]) => readsOf(id, policy));
    this.#names = this.#policies.some(({ readsAll }) => readsAll)
      ? undefined
      : new Set(this.#policies.flatMap(({ attributes }) => [...attributes.keys()].flatMap(namesBehind)));
  }

  /** Whether any argument can influence a decision. */
  get includeArguments(): boolean {
    return this.#names === undefined || this.#names.size > 0;
  }

  /** Returns the arguments that can influence a decision. */
  of(given: Facts): Facts {
    const names = this.#names;
    if (names === undefined) return given;
    if (names.size === 0) return {};
    return Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
  }

  /** Why no policy can decide about these facts. Undefined if the policies see all that they read. */
  problemWith({ arguments: given = {}, claims }: GivenFacts, scope: RequestScope): string | undefined {
    const names = new FoldedNames(given);
    for (const policy of this.#policies) {
      if (!canApply(policy, scope)) continue;
      const problem =
        (policy.readsAll ? problemWithAll(given, names) : undefined) ??
        this.#problemWithRead(policy, { given, claims, names });
      if (problem !== undefined) return `${policy.id}: ${problem}`;
    }
    return undefined;
  }

  #problemWithRead(
    { attributes }: PolicyReads,
    { given, claims, names }: { given: Facts; claims: Facts; names: FoldedNames },
  ): string | undefined {
    for (const [attribute, read] of attributes) {
      const claim = nameIn(attribute, prefixes.claim);
      if (claim !== undefined) {
        const value = memberOf(claims, claim);
        if (read.isRisky && value !== undefined && value !== null && !isWholeClaim(value))
          return `the claim ${quoted(claim)} has a value that Cedar cannot represent`;
        continue;
      }
      for (const name of namesBehind(attribute)) {
        const other = names.otherSpellingOf(name);
        if (other !== undefined)
          return `the argument ${quoted(other)} differs from ${quoted(name)}, which the policy reads, only in its spelling`;
      }
      const [name, base] = namesBehind(attribute);
      if (name === undefined) continue;
      if (base !== undefined && read.isRisky && isCompositeText(memberOf(given, base)))
        return `the argument ${quoted(base)} is a text that some servers read as a list or an object`;
      if (!Object.hasOwn(given, name)) continue;
      if (base !== undefined && isComposite(given[base]))
        return `the argument ${quoted(name)} has the name that stands for the presence of ${quoted(base)}`;
      const isAware = isComposite(given[name]) && attributes.has(`${attribute}${suffix}`);
      if (!read.isRisky || isAware) continue;
      const problem = problemWithValue(given[name], read, (of) => typeBehind(of, given, claims));
      if (problem !== undefined) return `the argument ${quoted(name)} ${problem}`;
    }
    return undefined;
  }
}

/** Returns why a policy that reads a value would not see the value. */
function problemWithValue(
  value: unknown,
  { types }: Read,
  typeBehindOf: (attribute: string) => ScalarType | undefined,
): string | undefined {
  const type = typeOf(value);
  if (type === undefined) return unrepresentable(value);
  if (types.length === 0) return undefined;
  const expected = types.flatMap((one) =>
    typeof one === 'string' ? one : (typeBehindOf(one.attribute) ?? type),
  );
  if (expected.includes(type)) return undefined;
  const others = [...new Set(expected)].map((one) => (one === 'other' ? 'a value of another type' : one));
  return `is ${type}, but the policy compares it with ${others.join(' or ')}`;
}

function unrepresentable(value: unknown): string {
  if (value === null) return 'is null, so omit it';
  if (typeof value === 'object') return 'is a list or an object, so the policy cannot compare its value';
  return 'is a number that is not an exact Cedar decimal: at most 4 digits after the point, below 922337203685477';
}

/** A policy that uses the whole context sees every argument that has a representation. */
function problemWithAll(given: Facts, names: FoldedNames): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (typeOf(value) === undefined && !isComposite(value))
      return `the argument ${quoted(name)} ${unrepresentable(value)}`;
    if (names.otherSpellingOf(name) !== undefined)
      return `the name of the argument ${quoted(name)} appears twice in different spellings`;
    const [, base] = namesBehind(`${prefixes.argument}${name}`);
    if (base !== undefined && isComposite(memberOf(given, base)))
      return `the argument ${quoted(name)} has the name that stands for the presence of ${quoted(base)}`;
  }
  return undefined;
}

/** The names of arguments, found in all spellings that some servers accept: Go ignores case, for example. */
class FoldedNames {
  readonly #given: Facts;
  #folded: Map<string, string[]> | undefined;

  constructor(given: Facts) {
    this.#given = given;
  }

  otherSpellingOf(name: string): string | undefined {
    this.#folded ??= Map.groupBy(Object.keys(this.#given), folded);
    return this.#folded.get(folded(name))?.find((other) => other !== name);
  }
}

function folded(name: string): string {
  return name.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');
}

function typeBehind(attribute: string, given: Facts, claims: Facts): ScalarType | undefined {
  const argument = nameIn(attribute, prefixes.argument);
  if (argument !== undefined) return typeOf(memberOf(given, argument));
  const claim = nameIn(attribute, prefixes.claim);
  return claim === undefined ? undefined : typeOf(memberOf(claims, claim));
}

/** The arguments that an attribute can stand for: `arg_a_present` is the argument `a_present`, or tells of `a`. */
function namesBehind(attribute: string): string[] {
  const name = nameIn(attribute, prefixes.argument);
  if (name === undefined) return [];
  return name.endsWith(suffix) ? [name, name.slice(0, -suffix.length)] : [name];
}

function nameIn(attribute: string, prefix: string): string | undefined {
  return attribute.startsWith(prefix) ? attribute.slice(prefix.length) : undefined;
}

function memberOf(facts: Facts, name: string): unknown {
  return Object.hasOwn(facts, name) ? facts[name] : undefined;
}

const isComposite = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Many servers read such a text as the list or the object in it. */
function isCompositeText(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));

function canApply({ action, resource }: PolicyReads, asked: RequestScope): boolean {
  const { resourceType, resourceId } = asked;
  if (action !== undefined && action !== asked.action) return false;
  if (resource === undefined) return true;
  const isOther = resource.id !== undefined && resourceId !== undefined && resource.id !== resourceId;
  return resource.type === resourceType && !isOther;
}

/** A part of a policy as JSON (docs.cedarpolicy.com/policies/json-format.html). */
type Expression = Readonly<Record<string, unknown>>;

function readsOf(id: string, policy: Policy): PolicyReads {
  const answer = cedar().policyToJson(policy);
  if (answer.type === 'failure')
    return { id, action: undefined, resource: undefined, attributes: new Map(), readsAll: true };
  const { effect, action, resource, conditions } = answer.json;
  const reader = new ExpressionReader();
  let equal: { type: string; id: string } | undefined;
  for (const { kind, body } of conditions) {
    // A policy that forbids allows more if its condition is false, and a policy that permits if it is true.
    const isTruth = kind === 'when';
    reader.read(body, effect === 'forbid' ? isTruth : !isTruth);
    if (isTruth) equal ??= resourceIn(body);
  }
  return {
    id,
    action: action.op === '==' && 'entity' in action ? entityOf(action.entity).id : undefined,
    resource:
      resource.op === '==' && 'entity' in resource
        ? entityOf(resource.entity)
        : (equal ?? (resource.op === 'is' ? { type: resource.entity_type } : undefined)),
    attributes: reader.attributes,
    readsAll: reader.readsAll,
  };
}

type Uid = { type: string; id: string } | { __entity: { type: string; id: string } };
const entityOf = (uid: Uid): { type: string; id: string } => ('__entity' in uid ? uid.__entity : uid);

/** The resource that a condition requires: `resource == Tool::"a" && …`. */
function resourceIn(expression: unknown): { type: string; id: string } | undefined {
  const { '&&': both, '==': equal } = expression as { '&&'?: Operands; '=='?: Operands };
  if (both !== undefined) return resourceIn(both.left) ?? resourceIn(both.right);
  if (equal === undefined) return undefined;
  const sides = [equal.left, equal.right];
  const value = sides.map((side) => side['Value'] as { __entity?: { type: string; id: string } } | undefined);
  return sides.some((side) => side['Var'] === 'resource')
    ? value.find((one) => one?.__entity)?.__entity
    : undefined;
}

interface Operands {
  left: Expression;
  right: Expression;
}

const decimalMethods: ReadonlySet<string> = new Set([
  'lessThan',
  'lessThanOrEqual',
  'greaterThan',
  'greaterThanOrEqual',
]);

const comparisons: ReadonlySet<string> = new Set(['==', 'contains', 'containsAll', 'containsAny']);

/** Collects the attributes in conditions. `isRisky`: a policy allows more if this expression is false. */
class ExpressionReader {
  readonly attributes = new Map<string, Read>();
  readsAll = false;

  read(expression: unknown, isRisky: boolean): void {
    if (Array.isArray(expression)) return expression.forEach((part) => this.read(part, isRisky));
    if (typeof expression !== 'object' || expression === null) return;
    for (const [operator, operand] of Object.entries(expression)) this.#readOne(operator, operand, isRisky);
  }

  #readOne(operator: string, operand: unknown, isRisky: boolean): void {
    if (operator === 'Value') return;
    if (operator === 'Var') {
      if (operand === 'context') this.readsAll = true;
    } else if (operator === '.' || operator === 'has') {
      const { left, attr } = operand as { left: Expression; attr: string | string[] };
      this.#add([attr].flat()[0] ?? '', isRisky);
      if (!('Var' in left)) this.read(left, isRisky);
    } else if (operator === '!') this.read(operand, !isRisky);
    else if (operator === '!=') this.#compare(operand as Operands, !isRisky);
    else if (comparisons.has(operator)) this.#compare(operand as Operands, isRisky);
    else if (operator === 'if-then-else') {
      const { if: condition, ...branches } = operand as { if: Expression };
      this.read(condition, true);
      this.read(condition, false);
      this.read(Object.values(branches), isRisky);
    } else if (decimalMethods.has(operator)) this.read(operand, isRisky);
    else this.read(Array.isArray(operand) ? operand : Object.values(operand as object), isRisky);
  }

  /** A comparison of different types is false, without an error. */
  #compare({ left, right }: Operands, isRisky: boolean): void {
    for (const operand of [left, right]) {
      this.read(operand, isRisky);
      // The truth of an operand can make a comparison true or false.
      if (!('.' in operand)) this.read(operand, !isRisky);
    }
    if (!isRisky) return;
    for (const attribute of attributesIn(left)) this.attributes.get(attribute)?.types.push(...typesIn(right));
    for (const attribute of attributesIn(right)) this.attributes.get(attribute)?.types.push(...typesIn(left));
  }

  #add(attribute: string, isRisky: boolean): void {
    const known = this.attributes.get(attribute);
    if (known === undefined) this.attributes.set(attribute, { isRisky, types: [] });
    else known.isRisky ||= isRisky;
  }
}

function attributeIn({ '.': member }: Expression): string | undefined {
  return member === undefined ? undefined : (member as { attr: string }).attr;
}

/** The attributes whose values an operand consists of. */
function attributesIn(expression: Expression): string[] {
  const attribute = attributeIn(expression);
  if (attribute !== undefined) return [attribute];
  const { Set: elements = [], Record: members = {}, 'if-then-else': branches = {} } = expression;
  return [elements, members, branches].flatMap((parts) =>
    Object.values(parts as Record<string, Expression>).flatMap(attributesIn),
  );
}

/** The types of an operand. Cedar compares numbers of arguments as decimals, so whole numbers fit none. */
function typesIn(expression: Expression): ExpectedType[] {
  const { Value: value, Set: elements } = expression;
  if (typeof value === 'string') return ['text'];
  if (typeof value === 'boolean') return ['boolean'];
  if ('decimal' in expression) return ['decimal'];
  if (Array.isArray(elements)) return elements.flatMap((one: Expression) => typesIn(one));
  const attribute = attributeIn(expression);
  if (attribute === 'uri' || attribute === 'name') return ['text'];
  return [attribute === undefined ? 'other' : { attribute }];
}
