import type { AuthzConfig } from '@toolhive/contract/authorization';
import { isAboutUri, shortNameOf } from '@toolhive/proxy/authorization';
import type { AccessAction, AccessQuestion, Authorizer } from '@toolhive/proxy/authorization';
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { defaultHints } from './hints.ts';
import { cedarValueOf } from './cedar-values.ts';
import { PolicySet, claimsOf, deniedFor } from './policy-set.ts';
import type { PolicyDecision } from './policy-set.ts';
import { readingsOf } from './resource-uri.ts';

/** The Cedar entity types of a server's items, by action. */
const resourceTypes: Record<AccessAction, string> = {
  call_tool: 'Tool',
  get_prompt: 'Prompt',
  read_resource: 'Resource',
  get_skill: 'Skill',
};

/** What policies can be about. */
const action = (resource: string) => ({
  appliesTo: { principalTypes: ['Client'], resourceTypes: [resource] },
});
const schema = {
  entityTypes: { Client: {}, Tool: {}, Prompt: {}, Resource: {}, Skill: {}, FeatureType: {} },
  actions: {
    call_tool: action('Tool'),
    get_prompt: action('Prompt'),
    read_resource: action('Resource'),
    get_skill: action('Skill'),
    list_tools: action('FeatureType'),
    list_prompts: action('FeatureType'),
    list_resources: action('FeatureType'),
    list_skills: action('FeatureType'),
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
  /** Whether policies name resources, by their URIs or by their short names. */
  readonly #namesResources: boolean;
  /** Whether policies are about skills. Otherwise, looking for the skills around a file could only cost time. */
  readonly #namesSkills: boolean;
  /** Decisions by the claims of a token: the same object as long as the token is accepted. */
  readonly #decisions = new WeakMap<object, Map<string, PolicyDecision>>();

  private constructor(set: PolicySet) {
    this.#set = set;
    this.#namesResources = set.names('Resource');
    this.#namesSkills = set.names('Skill') || set.names('get_skill');
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

  /** Returns the names in the policies that the server does not offer or that are ambiguous, with line and column. */
  doubtsAbout(offered: OfferedItems): readonly string[] {
    const given = this.#set.attributesGiven();
    const isKnown = (name: string): boolean =>
      attributes.has(name) || name.startsWith('arg_') || given.has(name);
    return this.#set.doubts(schemaOf(offered), (message) => {
      const [, entity] = /entity `(.+)` is of an enumerated entity type/s.exec(message) ?? [];
      if (entity !== undefined) return doubtAbout(entity, offered);
      const [, name] =
        /attribute `(.+)` on entity type `(?:Tool|Prompt|Resource)` not found/s.exec(message) ?? [];
      if (name === undefined || isKnown(name)) return undefined;
      return `tools, prompts, and resources have no attribute ${name}`;
    });
  }

  isAllowed(question: AccessQuestion): boolean {
    return this.decide(question).isAllowed;
  }

  /** Whether decisions can depend on the arguments of calls. */
  get readsArguments(): boolean {
    return this.#set.reads.includeArguments;
  }

  /** Decides, and names the policies. Decisions that depend on the same facts are made once. */
  decide(question: AccessQuestion): PolicyDecision {
    const { claims } = question.principal;
    // An argument can make a question undecidable by its name or its type alone, which the key does not contain.
    const problem = this.readsArguments ? this.#problemWith(question) : undefined;
    if (problem !== undefined) return deniedFor(problem);
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

  #problemWith({ principal, action, target, arguments: given }: AccessQuestion): string | undefined {
    return this.#set.reads.problemWith(
      { arguments: given, claims: principal.claims ?? {} },
      {
        action,
        resourceType: resourceTypes[action],
        resourceId: isAboutUri(action) ? undefined : target,
      },
    );
  }

  /** All facts that a decision for the claims of one token depends on. No part before the last one contains a blank. */
  #keyOf({ action, target, arguments: given = {}, annotations, listed }: AccessQuestion): string {
    const start = `${action} ${keyOfHints(annotations)} ${listed?.version ?? ''}`;
    return this.readsArguments
      ? `${start} ${JSON.stringify([target, this.#set.reads.of(given)])}`
      : `${start} ${target}`;
  }

  #evaluate(question: AccessQuestion): PolicyDecision {
    const problem = this.#problemWith(question);
    if (problem !== undefined) return deniedFor(problem);
    const subject = question.principal.claims?.['sub'];
    // A caller without a name cannot be allowed anything.
    if (typeof subject !== 'string' || subject === '') return deniedFor('the token has no subject (sub)');
    if (isAboutUri(question.action)) return this.#decideAboutUri(question, subject);
    return this.#decideAs(question, subject, question.target);
  }

  /** A policy that forbids any reading of the URI counts. A policy must permit the URI as written, and its canonical form. */
  #decideAboutUri(question: AccessQuestion, subject: string): PolicyDecision {
    const { target, listed } = question;
    const { canonical, others } = readingsOf(target);
    if (canonical.length === 0 && listed?.has(target) !== true) return deniedFor(withoutCanonicalForm);
    const decisions = new Map(
      [target, ...canonical, ...others].map((uri) => [
        uri,
        this.#decideAboutSpelling({ ...question, target: uri }, subject),
      ]),
    );
    const against =
      [...decisions.values()].find(isAgainst) ??
      this.#decisionAgainstSkill(question, subject, [...decisions.keys()]);
    if (against !== undefined) return against;
    const asWritten = decisions.get(target) ?? deniedFor('the URI was not decided');
    const isCanonicalAllowed = canonical.some((uri) => decisions.get(uri)?.isAllowed === true);
    if (!asWritten.isAllowed || isCanonicalAllowed || canonical.length === 0) return asWritten;
    return deniedFor(`no policy permits the canonical form ${JSON.stringify(canonical[0])}`);
  }

  /** The files of a skill are forbidden with it, whatever policies say about resources. */
  #decisionAgainstSkill(
    question: AccessQuestion,
    subject: string,
    uris: readonly string[],
  ): PolicyDecision | undefined {
    if (question.action !== 'read_resource' || !this.#namesSkills) return undefined;
    const skills = new Set<string>();
    for (const uri of uris) {
      const around = skillsAround(uri);
      if (around === undefined) return deniedFor('the URI has more segments than the URI of any skill');
      for (const skill of around) skills.add(skill);
    }
    const asked = [...skills].map((target) =>
      this.#decideAs({ ...question, action: 'get_skill', target }, subject, target),
    );
    return asked.find(isAgainst);
  }

  /** Policies name a resource by its URI, or by the short name of the original, which several URIs have. */
  #decideAboutSpelling(question: AccessQuestion, subject: string): PolicyDecision {
    const { target, listed } = question;
    if (question.action === 'get_skill') return this.#decideAs(question, subject, target);
    const shortName = shortNameOf(target);
    const byShortName = this.#decideAs(question, subject, shortName);
    if (!this.#namesResources || isAgainst(byShortName)) return byShortName;
    const byUri = this.#decideAs(question, subject, target);
    if (isAgainst(byUri) || byUri.isAllowed) return byUri;
    // A permit by a short name is about the listed resources of this name, if there are any.
    const isMeant = listed === undefined || listed.has(target) || !listed.hasShortName(shortName);
    return isMeant ? byShortName : byUri;
  }

  #decideAs(question: AccessQuestion, subject: string, id: string): PolicyDecision {
    const { principal, action } = question;
    const claims = claimsOf(principal.claims ?? {});
    const given = argumentsOf(this.#set.reads.of(question.arguments ?? {}));
    return this.#set.decide({
      principal: { uid: { type: 'Client', id: subject }, attributes: claims },
      action: { uid: { type: 'Action', id: action }, attributes: { operation: action } },
      resource: {
        uid: { type: resourceTypes[action], id },
        attributes: { ...resourceAttributes(question), ...given },
      },
      context: { ...claims, ...given },
    });
  }
}

const withoutCanonicalForm =
  'the URI has no canonical form, so the server could read another resource than the policies see; use a URI that the server lists';

/** Whether a policy forbids, or cannot be evaluated. */
function isAgainst({ isAllowed, policies, errors }: PolicyDecision): boolean {
  return errors.length > 0 || (!isAllowed && policies.length > 0);
}

/** The schema with the things that a server offers. Enumerated entities have no attributes in Cedar. */
function schemaOf(offered: OfferedItems): typeof schema {
  // Resources are enumerated even if they are unknown, because short names are always ambiguous.
  const enumerated = Object.entries({ ...offered, Resource: offered.Resource ?? [] }).flatMap(
    ([type, names]) => {
      if (names === undefined) return [];
      return [[type, { enum: names.length === 0 ? [nothing] : names }]];
    },
  );
  return { ...schema, entityTypes: { ...schema.entityTypes, ...Object.fromEntries(enumerated) } };
}

/** An enumeration needs a member. */
const nothing = '\0';

/** Describes an entity that no list contains. */
function doubtAbout(entity: string, offered: OfferedItems): string | undefined {
  const [, id] = /^Resource::"(.*)"$/s.exec(entity) ?? [];
  if (id === undefined) return `the server does not offer ${entity}`;
  const isShort = shortNameOf(id) === id;
  const meant = isShort ? offered.Resource?.filter((uri) => shortNameOf(uri) === id) : undefined;
  if (offered.Resource !== undefined && (meant === undefined || meant.length === 0))
    return `the server does not offer ${entity}`;
  if (!isShort) return undefined;
  const example = meant?.[0] ?? 'file:///a';
  return `${entity} can stand for several URIs. Name the URI, for example Resource::${JSON.stringify(example)}`;
}

function resourceAttributes({
  action: operation,
  target,
  annotations = {},
}: AccessQuestion): Record<string, CedarValueJson> {
  const feature = resourceTypes[operation].toLowerCase();
  if (operation === 'get_skill') return { name: skillName(target), operation, feature, uri: target };
  if (operation === 'read_resource') return { name: shortNameOf(target), operation, feature, uri: target };
  const common = { name: target, operation, feature };
  if (operation !== 'call_tool') return common;
  const hints = Object.entries(defaultHints).map(([name, value]) => {
    const said = annotations[name];
    return [name, typeof said === 'boolean' ? said : value];
  });
  return { ...common, ...(Object.fromEntries(hints) as Record<string, boolean>) };
}

/** The skills that the file with a URI can belong to (SEP-2640, Resource Mapping), or undefined if there are too many. */
function skillsAround(uri: string): string[] | undefined {
  const [, start = '', path = ''] = /^(skill:\/*)([^?#]*)/i.exec(uri) ?? [];
  if (start === '') return [];
  const segments = path.split('/');
  if (segments.length > maxSkillDepth) return undefined;
  return segments.map((_, index) => `${start}${[...segments.slice(0, index + 1), skillFile].join('/')}`);
}

const skillFile = 'SKILL.md';
/** A server writes lists of files, and each segment costs a decision. */
const maxSkillDepth = 8;

/** The name of a skill is the last segment of its directory (SEP-2640, Resource Mapping). */
function skillName(uri: string): string {
  return uri.split('/').at(-2) ?? uri;
}

/** A letter for each hint. A hint that is not true or false has its default. */
function keyOfHints(annotations: AccessQuestion['annotations']): string {
  if (annotations === undefined) return '';
  let key = '';
  for (const name of hintNames) {
    const said = annotations[name];
    key += typeof said === 'boolean' ? (said ? 't' : 'f') : 'd';
  }
  return key;
}

const hintNames = Object.keys(defaultHints);

/** Policies see only the presence of arguments that are not scalars. */
function argumentsOf(given: Readonly<Record<string, unknown>>): Record<string, CedarValueJson> {
  const attributes: [string, CedarValueJson][] = [];
  const presences: [string, CedarValueJson][] = [];
  for (const [name, value] of Object.entries(given)) {
    const written = Array.isArray(value) ? undefined : cedarValueOf(value);
    if (written !== undefined) attributes.push([`arg_${name}`, written]);
    if (typeof value === 'object') presences.push([`arg_${name}_present`, true]);
  }
  return Object.fromEntries([...attributes, ...presences]);
}
