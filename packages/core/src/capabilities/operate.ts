import type {
  Capabilities,
  ListedPrompt,
  ListedResource,
  ListedSkill,
  ListedTemplate,
  ListedTool,
} from '@toolhive/contract/capabilities';
import { messageOf } from '@toolhive/contract/failure';
import { tokensOfTool } from '@toolhive/contract/tokens';
import { appOf } from '@toolhive/proxy/apps';
import type { Greeting } from '@toolhive/proxy/listing-capture';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';
import { toolView } from '@toolhive/proxy/tool-filter';
import type { PinnedKind } from '@toolhive/proxy/tool-pinning';
import type { StoredListing } from './listings.ts';
import type { StateWing } from '../wings/state.ts';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { ItemPin } from '../pins/views.ts';
import { listEverything } from '../supervision/list-everything.ts';
import { toolsOf } from '../supervision/open-proxy.ts';
import { pinningModeOf } from '../pins/mode.ts';
import type { Supervisor } from '../supervision/supervisor.ts';

type Item = Record<string, unknown>;

const skillsExtension = 'io.modelcontextprotocol/skills';
type PinOf = (kind: PinnedKind, name: string) => { pin?: ItemPin };

/**
 * A server's latest lists. Asks a running server through its proxy, like a client, if the lists are missing or a
 * refresh is requested. Throws `not-found`.
 */
export async function getCapabilities(
  core: StateWing & GovernanceWing & WorkloadsWing,
  name: string,
  { refresh = false }: { refresh?: boolean | undefined },
): Promise<Capabilities> {
  const supervisor = core.workloads.require(name);
  const known = core.listings.of(supervisor.id);
  const { proxy } = supervisor.live;
  const wasAsked = proxy !== undefined && asked.has(proxy) && !asking.has(supervisor);
  const isNeeded = refresh || (!isListed(known) && !wasAsked);
  const isAsked = supervisor.condition.status === 'running' && isNeeded && proxy !== undefined;
  if (isAsked) asked.add(proxy);
  const problem = isAsked ? await ask(core, supervisor, proxy) : undefined;
  return described(core, supervisor, isAsked ? core.listings.of(supervisor.id) : known, problem);
}

/** The proxies whose servers were asked, and are not asked again unless a caller wants that. */
const asked = new WeakSet<WorkloadProxy>();

/** The lists that a server with these capabilities has. */
const needed: readonly (readonly [PinnedKind, string])[] = [
  ['tool', 'tools'],
  ['prompt', 'prompts'],
  ['resource', 'resources'],
  ['resource-template', 'resources'],
  ['skill', skillsExtension],
];

/** Whether there is a list of everything that the server has. */
function isListed(listing: StoredListing | undefined): listing is StoredListing & { greeting: Greeting } {
  const { greeting, lists = {} } = listing ?? {};
  if (greeting === undefined) return false;
  const { extensions } = greeting.capabilities;
  const offered = { ...greeting.capabilities, ...object(extensions) };
  return needed.every(([kind, capability]) => !(capability in offered) || lists[kind] !== undefined);
}

/** Lists that are being made, so that several callers wait for the same. */
const asking = new WeakMap<Supervisor, Promise<string | undefined>>();

/** Asks the server, and returns why that failed, if so. The proxy records the answers. */
function ask(core: StateWing, supervisor: Supervisor, proxy: WorkloadProxy): Promise<string | undefined> {
  const known = asking.get(supervisor);
  if (known !== undefined) return known;
  const { host, port } = supervisor.runConfig;
  const listing = listEverything({ proxy, host, port, version: core.version })
    .then(() => undefined, messageOf)
    .finally(() => asking.delete(supervisor));
  asking.set(supervisor, listing);
  return listing;
}

function described(
  core: GovernanceWing,
  { id, runConfig }: Supervisor,
  listing: StoredListing | undefined,
  problem: string | undefined,
): Capabilities {
  const { at, greeting, lists = {} } = listing ?? {};
  const pins = pinningModeOf(runConfig) === 'off' ? undefined : core.pins.of(id).states();
  const pinOf: PinOf = (kind, name) => {
    const pin = pins?.(kind, name);
    return pin === undefined ? {} : { pin };
  };
  const { pin: instructionsPin } = pinOf('instructions', '');
  const view = toolView(toolsOf(runConfig));
  return {
    ...(at === undefined ? {} : { listed_at: at }),
    complete: isListed(listing) && Object.values(lists).every(({ isComplete }) => isComplete),
    ...(problem === undefined ? {} : { problem }),
    ...optional('protocol_version', greeting?.protocolVersion),
    ...optional('server', greeting?.server),
    ...optional('capabilities', greeting?.capabilities),
    ...optional('instructions', greeting?.instructions),
    ...optional('instructions_pin', instructionsPin),
    tools: (lists.tool?.items ?? []).flatMap((item) => describeTool(item, view, pinOf)),
    prompts: (lists.prompt?.items ?? []).flatMap((item) => describePrompt(item, pinOf)),
    resources: (lists.resource?.items ?? []).flatMap((item) => describeResource(item, pinOf)),
    resource_templates: (lists['resource-template']?.items ?? []).flatMap((item) =>
      describeTemplate(item, pinOf),
    ),
    ...(lists.skill === undefined
      ? {}
      : { skills: lists.skill.items.flatMap((item) => describeSkill(item, pinOf)) }),
  };
}

function describeTool(item: Item, view: ReturnType<typeof toolView>, pinOf: PinOf): ListedTool[] {
  const original = text(item['name']);
  if (original === undefined) return [];
  const { isShown, name, description: shown } = view(item);
  const [description, originalDescription] = [text(shown), text(item['description'])];
  const { inputSchema, outputSchema, annotations } = item;
  return [
    {
      name,
      original_name: original,
      is_shown: isShown,
      ...optional('title', text(item['title'])),
      ...optional('description', description),
      ...(description === originalDescription ? {} : optional('original_description', originalDescription)),
      ...optional('input_schema', object(inputSchema)),
      ...optional('output_schema', object(outputSchema)),
      ...optional('annotations', object(annotations)),
      estimated_tokens: tokensOfTool({ name, description, inputSchema }),
      ...optional('app', appOf(item['_meta'])),
      ...pinOf('tool', original),
    },
  ];
}

function describePrompt(item: Item, pinOf: PinOf): ListedPrompt[] {
  const name = text(item['name']);
  if (name === undefined) return [];
  const args = Array.isArray(item['arguments']) ? item['arguments'].filter(isNamed) : undefined;
  return [{ name, ...titled(item), ...optional('arguments', args), ...pinOf('prompt', name) }];
}

function describeResource(item: Item, pinOf: PinOf): ListedResource[] {
  const uri = text(item['uri']);
  if (uri === undefined) return [];
  const size = typeof item['size'] === 'number' ? item['size'] : undefined;
  return [{ uri, ...contentOf(item), ...optional('size', size), ...pinOf('resource', uri) }];
}

function describeTemplate(item: Item, pinOf: PinOf): ListedTemplate[] {
  const template = text(item['uriTemplate']);
  if (template === undefined) return [];
  return [{ uri_template: template, ...contentOf(item), ...pinOf('resource-template', template) }];
}

function describeSkill(item: Item, pinOf: PinOf): ListedSkill[] {
  const uri = text(item['uri']);
  if (uri === undefined) return [];
  const { name, description } = object(item['frontmatter']) ?? {};
  const files = Array.isArray(item['resources']) ? item['resources'].length : undefined;
  const named = { ...optional('name', text(name)), ...optional('description', text(description)) };
  return [{ uri, ...named, ...optional('files', files), ...pinOf('skill', uri) }];
}

function contentOf(item: Item): Omit<ListedTemplate, 'uri_template'> {
  return {
    ...optional('name', text(item['name'])),
    ...titled(item),
    ...optional('mime_type', text(item['mimeType'])),
    ...optional('annotations', object(item['annotations'])),
  };
}

function titled(item: Item): { title?: string; description?: string } {
  return {
    ...optional('title', text(item['title'])),
    ...optional('description', text(item['description'])),
  };
}

/** A member of an object, unless there is nothing to say. */
function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value }); // a computed key loses its type
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function object(value: unknown): Item | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Item) : undefined;
}

function isNamed(value: unknown): value is Item & { name: string } {
  return typeof object(value)?.['name'] === 'string';
}
