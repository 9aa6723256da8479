import { findingsIn } from '@toolhive/access/findings';
import type { Combination, KnownSkill } from '@toolhive/combined/combination';
import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import type { FoundTool, SearchableTool } from '@toolhive/tool-search/tool-index';

interface IndexedSkill extends SearchableTool {
  skill: KnownSkill;
}

/** The field with the words of the server's other skills. */
const neighbors = 'other tools on the server';
/** How many skills one search returns at most. */
const maxSkills = 3;

/** Finds the skills of servers that fit a query (SEP-2640). */
export class SkillFinder {
  readonly #others: Combination;
  /** The indexes of the lists that callers see. */
  readonly #indexes = new WeakMap<readonly KnownSkill[], Promise<ToolIndex<IndexedSkill>>>();

  constructor(others: Combination) {
    this.#others = others;
  }

  async find(
    query: string,
    {
      caller,
      signal,
      ...options
    }: {
      caller: InProcessCaller;
      signal: AbortSignal;
      maxDistance: number;
      includes: (server: string) => boolean;
    },
  ): Promise<FoundTool<IndexedSkill>[]> {
    const skills = await this.#others.skills(caller, signal);
    if (skills.length === 0) return [];
    const building = this.#indexes.get(skills) ?? ToolIndex.build(skills.map(indexed));
    this.#indexes.set(skills, building);
    const index = await building;
    const found = index.search(query, {
      limit: maxSkills,
      maxDistance: options.maxDistance,
      includes: ({ server }) => options.includes(server),
    });
    // Skills come in addition to the tools, so only those with words of the query are worth their tokens.
    return found.filter(({ reason }) =>
      reason.some(({ fields }) => fields.some((field) => field !== neighbors)),
    );
  }
}

/** A skill as models see it. Clients read its files as resources. */
export function describeSkill({ tool: { skill }, score, distance }: FoundTool<IndexedSkill>): object {
  const { server, uri, name, description, entry } = skill;
  const findings = findingsIn({ kind: 'skill', name: uri, content: entry['frontmatter'] });
  return {
    server_name: server,
    uri,
    name: name.slice(0, 200),
    description: description.slice(0, 2_000),
    score: Math.round(score * 1000) / 1000,
    distance: Math.round(distance * 1000) / 1000,
    ...(findings.length === 0 ? {} : { warnings: findings.map(({ message }) => message) }),
  };
}

function indexed(skill: KnownSkill): IndexedSkill {
  const { server, uri, name, description } = skill;
  return { id: `${server} ${uri}`, server, name, description, inputSchema: {}, skill };
}
