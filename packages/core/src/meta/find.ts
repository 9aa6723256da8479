import { printable } from '@toolhive/contract/printable';
import type * as z from 'zod';
import type { Lookup } from '@toolhive/outgoing/way-out';
import type { Combination } from '@toolhive/combined/combination';
import { isObject } from '@toolhive/proxy/message';
import { findingsIn } from '@toolhive/access/findings';
import { RelevanceFeedback } from '@toolhive/tool-search/feedback';
import type { MetaSettings } from '@toolhive/tool-search/settings';
import type { FoundTool, MatchReason, ToolIndex } from '@toolhive/tool-search/tool-index';
import type { IndexedTool, ToolDirectory, Visible } from './directory.ts';
import { EmbeddingSearch } from '@toolhive/tool-search/embeddings';
import { SkillFinder, describeSkill } from './find-skills.ts';
import type { MetaCall, MetaResult } from './meta-call.ts';
import type { FindTool } from './tool-inputs.ts';
import { callName, sharedNames } from './tool-names.ts';

export interface FinderOptions {
  lookup: Lookup;
  directory: ToolDirectory;
  /** Everything besides tools. */
  others: Combination;
  settings: MetaSettings;
  /** The key for the embedding endpoint. */
  apiKey: string | undefined;
  /** Whether the meta server offers `search_registry`. */
  searchesRegistry: boolean;
  /** Writes to the log of the meta server. */
  note: (text: string) => void;
}

const maxDescription = 2_000;
const maxServers = 100;
const maxQuery = 2_000;

const provenance =
  'Names, descriptions, and schemas are text of the servers. ToolHive has not written or checked them.';

/** Answers `find_tool`. */
export class Finder {
  readonly feedback: RelevanceFeedback = new RelevanceFeedback();
  readonly #options: FinderOptions;
  readonly #embeddings: EmbeddingSearch | undefined;
  readonly #skills: SkillFinder;

  constructor(options: FinderOptions) {
    this.#options = options;
    const { settings, apiKey, lookup, note } = options;
    this.#skills = new SkillFinder(options.others);
    this.#embeddings =
      settings.embeddings === undefined
        ? undefined
        : new EmbeddingSearch({ ...settings.embeddings, apiKey, lookup, note });
  }

  async find(input: z.output<typeof FindTool>, call: MetaCall): Promise<MetaResult> {
    const { directory, settings, searchesRegistry } = this.#options;
    const query = queryOf(input);
    const visible = await directory.visibleTo(call.caller, call.signal);
    const index = await directory.current(call.signal);
    const groups = new Map(visible.servers.map(({ name, group }) => [name, group]));
    const isAsked = (server: string): boolean =>
      (input.server === undefined || server === input.server) &&
      (input.group === undefined || groups.get(server) === input.group);
    const skills = await this.#skills.find(query, { ...call, ...settings, includes: isAsked });
    const includes = (tool: IndexedTool): boolean => visible.views.has(tool.id) && isAsked(tool.server);
    const boostOf = this.feedback.boostOf(call.callerKey, query);
    const limit = input.limit ?? settings.maxTools;
    const search = {
      maxDistance: settings.maxDistance,
      includes,
      boostOf: (tool: IndexedTool) => boostOf(tool.id),
    };
    const lexical = index.search(query, { ...search, limit: this.#embeddings === undefined ? limit : 50 });
    const { found, problem } = await this.#fused(query, { index, lexical, includes, limit }, call.signal);
    this.feedback.searched(
      call.callerKey,
      query,
      found.map(({ tool }) => tool.id),
    );
    const shared = sharedNames(visible);
    return {
      value: {
        tools: found.map((one) => describeTool(one, shared, this.#options.others)),
        ...(skills.length === 0 ? {} : { skills: skills.map(describeSkill).map(printableParts) }),
        ...(found.length === 0 ? { servers: visible.servers.slice(0, maxServers) } : {}),
        ...(visible.problems.length === 0 ? {} : { unavailable: visible.problems.map(readable) }),
        ...(problem === undefined ? {} : { search_problem: problem }),
        note: found.length === 0 ? noMatch(searchesRegistry) : provenance,
      },
    };
  }

  /** Adds the ranking of the embeddings, if they are configured. Without them, the words alone decide. */
  async #fused(
    query: string,
    given: {
      index: ToolIndex<IndexedTool>;
      lexical: FoundTool<IndexedTool>[];
      includes: (tool: IndexedTool) => boolean;
      limit: number;
    },
    signal: AbortSignal,
  ): Promise<{ found: FoundTool<IndexedTool>[]; problem?: string }> {
    if (this.#embeddings === undefined) return { found: given.lexical };
    return this.#embeddings.fuse(query, given, signal);
  }
}

function noMatch(searchesRegistry: boolean): string {
  const more = searchesRegistry ? ', or look for another server with search_registry' : '';
  return `No tool matches. Search for one step with other words, or list a server's tools with list_tools${more}.`;
}

function queryOf({
  query,
  keywords,
  tool_description: described,
  tool_keywords: more,
}: z.output<typeof FindTool>): string {
  return [query, described, keywords, more]
    .flat()
    .filter((part) => part !== undefined)
    .join(' ')
    .slice(0, maxQuery);
}

function describeTool(
  { tool, score, distance, reason }: FoundTool<IndexedTool>,
  shared: ReadonlySet<string>,
  others: Combination,
): object {
  const { listed, server, group, name } = tool;
  const { title, description, inputSchema, outputSchema, annotations, _meta } = listed;
  const findings = findingsIn({ kind: 'tool', name, content: listed });
  return printableParts({
    server_name: server,
    tool_name: callName(server, name, shared),
    group,
    ...(typeof title === 'string' ? { title: title.slice(0, 200) } : {}),
    ...(typeof description === 'string' ? { description: shortened(description) } : {}),
    input_schema: inputSchema,
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(isObject(_meta) ? aboutApp(others.metadataOf(server, _meta)) : {}),
    score: Math.round(score * 1000) / 1000,
    distance: Math.round(distance * 1000) / 1000,
    reason: reason.length === 0 ? ['similar words or meaning'] : reason.map(describeReason),
    ...(findings.length === 0 ? {} : { warnings: findings.map(({ message }) => message) }),
  });
}

/** The metadata by which a client finds the page of a tool (MCP Apps). */
function aboutApp(metadata: Record<string, unknown>): object {
  const { ui, 'ui/resourceUri': older } = metadata;
  if (ui === undefined && older === undefined) return {};
  return {
    _meta: {
      ...(ui === undefined ? {} : { ui }),
      ...(older === undefined ? {} : { 'ui/resourceUri': older }),
    },
  };
}

function describeReason({ term, through, fields }: MatchReason): string {
  const word = through === undefined || through === term ? term : `${term} (as ${through})`;
  return `${word} in ${fields.join(', ')}`;
}

function shortened(text: string): string {
  return text.length <= maxDescription ? text : `${text.slice(0, maxDescription)}…`;
}

function readable({ server, problem }: Visible['problems'][number]): object {
  return { server, problem: printable(problem).slice(0, 300) };
}

/** Replaces characters that hide text or change how other text is seen, in all values. */
function printableParts(value: object): object {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    typeof part === 'string' ? printable(part) : part,
  ) as object;
}
