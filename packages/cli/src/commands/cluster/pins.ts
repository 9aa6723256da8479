import { invalid, notFound } from '@toolhive/contract/failure';
import { escaped } from '@toolhive/contract/printable';
import { ApprovedItems, maxApprovedVersions } from '@toolhive/contract/tool-pins';
import type { ApprovedItem, PinFinding } from '@toolhive/contract/tool-pins';
import { findingsIn } from '@toolhive/access/findings';
import { unifiedDiff, versionOf } from '@toolhive/access/difference';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { isNotFound } from '@toolhive/kubernetes/status';
import { differencesOf, hashesOf, itemKey, parseListed } from '@toolhive/operator/listed-tools';
import type { ListedItem } from '@toolhive/operator/listed-tools';
import { namesOf } from '@toolhive/operator/names';
import { parse, stringify } from 'yaml';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import type { Page } from '../../out.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { inCluster, owners } from './connection.ts';

interface Pinned extends KubernetesObject {
  spec: { toolPins?: { mode?: string; items?: ApprovedItem[]; configMap?: { name: string; key?: string } } };
  status?: { toolPinsHash?: string };
}

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

/** An item whose listed versions are not those of its pin. */
interface Difference {
  kind: ListedItem['kind'];
  name: string;
  state: 'changed' | 'new' | 'removed';
  /** The listed versions without a pin. Several, if clients get different ones. */
  versions: { hash: string; diff?: string; findings: PinFinding[] }[];
}

/** Everything that a decision about pins needs. */
interface Review {
  server: Pinned;
  mode: string;
  /** The listed versions. */
  pins: ApprovedItem[];
  differences: Difference[];
}

/** Shows the differences between a server's lists and its pins, and prints or applies new pins. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [name = ''],
    flags,
    out,
    signal,
  } = call;
  await inCluster(call, async (client, namespace) => {
    const review = await reviewOf(client, { name, namespace }, signal);
    const { mode, pins, differences } = review;
    const isJson = flags.text('format') === 'json';
    const applies = flags.has('apply') && differences.length > 0;
    if (applies) {
      if (!isJson)
        out.record(differences, (page) => differences.forEach((each) => showDifference(page, each)));
      if (!flags.has('yes')) {
        if (isJson || !canAsk())
          throw invalid('nothing was applied', {
            hint: `review the changes with thv cluster pins ${name}, then add --yes`,
          });
        await confirm(`Pin these ${differences.length} changes?`, { signal });
      }
      await apply(client, review, signal);
    }
    if (applies && !isJson) return out.note(`${name} has ${pins.length} pinned items`);
    out.result({ applied: applies, mode, items: pins, differences }, (page) => {
      for (const difference of differences) showDifference(page, difference, '# ');
      if (differences.length === 0) page.line(`# All ${pins.length} listed items are as pinned.`);
      page.line(stringify({ spec: { toolPins: { mode, items: pins } } }, { lineWidth: 0 }).trimEnd());
    });
  });
}

async function reviewOf(
  client: KubernetesClient,
  place: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<Review> {
  const { name, namespace } = place;
  const server = await findServer(client, place, signal);
  const { toolPins } = server.spec;
  const hash = server.status?.toolPinsHash;
  if (toolPins === undefined || toolPins.mode === 'off')
    throw invalid(`the proxies of ${name} do not compare its tools`, {
      hint: `run kubectl patch ${server.kind.toLowerCase()} ${name} --namespace ${namespace} --type merge --patch '{"spec":{"toolPins":{"mode":"warn"}}}'`,
    });
  const kind = server.kind as Parameters<typeof namesOf>[0];
  const configMap = { name: namesOf(kind, name).listedTools, namespace };
  const { data = {} } = (await find<ConfigMap>(client, types.configMap, configMap, signal)) ?? {};
  const listed = hash === undefined ? undefined : parseListed(data[hash]);
  if (listed === undefined || !listed.items.some(({ isListed }) => isListed))
    throw notFound(`the proxies of ${name} have not listed its tools yet`, {
      hint: 'wait until the server is ready. If its proxies require tokens, list the tools with a client',
    });
  if (!listed.isComplete)
    throw invalid(`${name} lists more items or versions than its proxies record`, {
      hint: 'restart its proxies, or pin the items by hand',
    });
  const approved = await approvedOf(client, server, signal);
  return {
    server,
    mode: toolPins.mode ?? 'warn',
    pins: pinsOf(listed.items, name),
    differences: describeDifferences(listed.items, approved),
  };
}

async function findServer(
  client: KubernetesClient,
  place: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<Pinned> {
  for (const type of owners) {
    const found = await find<Pinned>(client, type, place, signal);
    if (found !== undefined) return { ...found, apiVersion: type.apiVersion, kind: type.kind };
  }
  throw notFound(`MCPServer or MCPRemoteProxy ${place.name} not found in namespace ${place.namespace}`);
}

async function find<T extends KubernetesObject>(
  client: KubernetesClient,
  type: (typeof types)[keyof typeof types],
  place: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await client.get<T>(type, place, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The pins of the spec and of its ConfigMap. */
async function approvedOf(
  client: KubernetesClient,
  { metadata, spec }: Pinned,
  signal: AbortSignal,
): Promise<ApprovedItem[]> {
  const { items = [], configMap } = spec.toolPins ?? {};
  if (configMap === undefined) return items;
  const place = { name: configMap.name, namespace: metadata.namespace ?? '' };
  const found = await find<ConfigMap>(client, types.configMap, place, signal);
  const text = found?.data?.[keyOf(configMap)];
  if (text === undefined) return items;
  const parsed = ApprovedItems.safeParse(parse(text, { maxAliasCount: 0 }));
  if (!parsed.success)
    throw invalid(`key ${keyOf(configMap)} of ConfigMap ${configMap.name} is not a list of pins`, {
      hint: 'write the items that thv cluster pins prints',
    });
  return [...items, ...parsed.data];
}

const keyOf = ({ key = 'tool-pins.json' }: { key?: string }): string => key;

/** The pins of everything that the server lists. */
function pinsOf(items: readonly ListedItem[], server: string): ApprovedItem[] {
  const pins = new Map<string, ApprovedItem>();
  for (const { kind, name, hash, isListed } of items) {
    if (!isListed) continue;
    const hashes = [...(pins.get(itemKey({ kind, name }))?.hashes ?? []), hash];
    if (hashes.length > maxApprovedVersions)
      throw invalid(`${server} lists more than ${maxApprovedVersions} versions of ${kind} ${oneLine(name)}`, {
        hint: 'a server whose tools change all the time cannot be pinned',
      });
    pins.set(itemKey({ kind, name }), { kind, name, hashes });
  }
  return [...pins.values()];
}

function describeDifferences(items: readonly ListedItem[], approved: readonly ApprovedItem[]): Difference[] {
  const pinned = hashesOf(approved);
  const listed = new Set(items.filter(({ isListed }) => isListed).map(itemKey));
  const differing = differencesOf(items, approved).map((difference): Difference => {
    const key = itemKey(difference);
    const versions = items.filter((item) => itemKey(item) === key);
    const before = versions.find(({ hash }) => pinned.get(key)?.has(hash));
    return {
      ...difference,
      versions: versions
        .filter(({ hash, isListed }) => isListed && pinned.get(key)?.has(hash) !== true)
        .map((version) => describeVersion(version, before)),
    };
  });
  const removed = approved.filter((pin) => !listed.has(itemKey(pin)));
  return [
    ...differing,
    ...removed.map(({ kind, name }): Difference => ({ kind, name, state: 'removed', versions: [] })),
  ];
}

function describeVersion(
  version: ListedItem,
  before: ListedItem | undefined,
): Difference['versions'][number] {
  const { kind, name, hash } = version;
  const content = contentOf(version);
  if (content === undefined) return { hash, findings: [] };
  const diff = unifiedDiff(before && contentOf(before), content);
  const findings = findingsIn({ kind, name, content: JSON.parse(content) as unknown });
  return { hash, ...(diff === undefined ? {} : { diff }), findings };
}

/** The text of a version. A text with another hash could mislead the user. */
function contentOf({ content, hash }: ListedItem): string | undefined {
  if (content === undefined) return undefined;
  try {
    return versionOf(JSON.parse(content)).hash === hash ? content : undefined;
  } catch {
    return undefined;
  }
}

/** Shows a difference. All texts come from the server, so they are escaped. */
function showDifference(page: Page, { kind, name, state, versions }: Difference, start = ''): void {
  const line = (text: string): void => page.line(`${start}${text}`);
  line(`${kind === 'instructions' ? kind : `${kind} ${oneLine(name)}`}: ${state}`);
  for (const { hash, diff, findings } of versions) {
    const lines = diff?.trimEnd().split('\n') ?? [
      `the text is too long to be shown, or is not that of ${hash}`,
    ];
    for (const text of lines) line(`  ${escaped(text)}`);
    for (const { severity, message, rule } of findings) line(`  ${severity} ${oneLine(message)} [${rule}]`);
  }
}

/** Writes the pins where the resource has them. A resource that has changed in the meantime is a conflict. */
async function apply(client: KubernetesClient, { server, pins }: Review, signal: AbortSignal): Promise<void> {
  const { metadata, spec, kind } = server;
  const { configMap, items = [] } = spec.toolPins ?? {};
  if (configMap !== undefined && items.length > 0)
    throw invalid(`${metadata.name} has pins in spec.toolPins.items and in ConfigMap ${configMap.name}`, {
      hint: 'remove one of them',
    });
  if (configMap !== undefined) {
    const place = { name: configMap.name, namespace: metadata.namespace };
    const data = { [keyOf(configMap)]: `${JSON.stringify(pins, null, 2)}\n` };
    await client.patch(types.configMap, place, { data }, signal);
    return;
  }
  const type = owners.find((owner) => owner.kind === kind) ?? owners[0];
  const { resourceVersion } = metadata;
  await client.patch(
    type,
    metadata,
    { metadata: { resourceVersion }, spec: { toolPins: { items: pins } } },
    signal,
  );
}
