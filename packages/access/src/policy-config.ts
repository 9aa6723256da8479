import type { AuthzConfig } from '@toolhive/contract/authorization';
import { invalid } from '@toolhive/contract/failure';
import type { EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';

/** What Cedar evaluates in a configuration. */
export interface PolicyContent {
  /** The policies by ID. */
  texts: Record<string, string>;
  entities: EntityJson[];
}

/** Reads a configuration. Throws `invalid` if ToolHive would ignore a part of it that can change decisions. */
export function policyContentOf(config: AuthzConfig): PolicyContent {
  requireNoLaterMembers(config);
  const texts = policyTexts(config);
  const entities = entitiesOf(config);
  requireGroupsOf(texts, entities);
  return { texts, entities };
}

const compareClaims =
  'compare claims in the policies, for example context has claim_groups && context.claim_groups.contains("admins")';

/** Members that later versions of the original have, each with its replacement. */
const laterMembers: Readonly<Record<string, string>> = {
  group_claim_name: compareClaims,
  role_claim_name: compareClaims,
  group_entity_type: compareClaims,
  multi_valued_claims: compareClaims,
  primary_upstream_provider: "remove it, and write policies for the claims of the caller's token",
};

function requireNoLaterMembers({ cedar: config = {} }: AuthzConfig): void {
  for (const [name, hint] of Object.entries(laterMembers)) {
    const value = config[name];
    const isEmpty = value === undefined || value === null || value === '';
    if (!isEmpty && !(Array.isArray(value) && value.length === 0))
      throw invalid(`cedar.${name} is not supported`, { hint });
  }
}

/**
 * Later versions of the original make callers members of `THVGroup` entities, by their claims. Without these members, a policy that
 * forbids something to a group would never apply.
 */
function requireGroupsOf(texts: Readonly<Record<string, string>>, entities: readonly EntityJson[]): void {
  const [id] =
    Object.entries(texts).find(([, text]) => text.replaceAll(/^\s*\/\/.*$/gm, '').includes('THVGroup::')) ??
    [];
  const hasMembers = entities.some(({ uid, parents }) => typeOf(uid) === 'Client' && parents.length > 0);
  if (id !== undefined && !hasMembers) {
    throw invalid(
      `${id} in cedar.policies names a THVGroup, but ToolHive does not derive groups from claims`,
      {
        hint: `${compareClaims}, or add Client entities with these parents to cedar.entities_json`,
      },
    );
  }
}

const typeOf = (uid: EntityJson['uid']): string => ('__entity' in uid ? uid.__entity : uid).type;

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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('cedar.entities_json is not JSON', { cause });
  }
  if (!Array.isArray(value)) throw invalid('cedar.entities_json is not a JSON array');
  const entities = value.map(wholeEntity);
  const answer = cedar().checkParseEntities({ entities: entities as EntityJson[] });
  if (answer.type === 'failure')
    throw invalid(`cedar.entities_json is invalid: ${answer.errors[0]?.message ?? ''}`);
  return entities as EntityJson[]; // checked by Cedar
}

/** The original reads entities without parents and attributes. */
function wholeEntity(entity: unknown): unknown {
  if (typeof entity !== 'object' || entity === null || Array.isArray(entity)) return entity;
  if ('uid' in entity && typeof entity.uid === 'string') {
    const [, type = 'Tool', id = 'weather'] = /^([A-Za-z]\w*)::"?([^"]+)"?$/.exec(entity.uid) ?? [];
    throw invalid(
      `cedar.entities_json has the uid ${JSON.stringify(entity.uid.slice(0, 100))}, which is text`,
      {
        hint: `write the uid as an object, for example ${JSON.stringify({ type, id })}`,
      },
    );
  }
  return { attrs: {}, parents: [], ...entity };
}

/** MCP methods that authors write in place of actions. */
const actions: Readonly<Record<string, string>> = {
  'tools/call': 'call_tool',
  'tools/list': 'list_tools',
  'prompts/get': 'get_prompt',
  'prompts/list': 'list_prompts',
  'resources/read': 'read_resource',
  'resources/list': 'list_resources',
};

/** What to do about a name that policies cannot use. Undefined for names with another similar one. */
export function hintForName(message: string): string | undefined {
  const [, method = ''] = /^unrecognized action `Action::"(.*)"`/.exec(message) ?? [];
  if (Object.hasOwn(actions, method)) return `use Action::"${actions[method]}"`;
  return message.startsWith('unrecognized entity type `MCP`')
    ? 'policies belong to one server, so name only its tools, prompts, and resources'
    : undefined;
}
