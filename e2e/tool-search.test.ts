import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import { tokensOfTool } from '@toolhive/contract/tokens';
import { describe, expect, test } from 'vitest';
import { ourRanking, plainRanking, qualityOf, readToolE } from '../bench/tool-ranking.ts';
import { everydaySearches, realTools } from './testing/everyday-searches.ts';

const data = readToolE();

describe('the ranking of find_tool on ToolE', () => {
  test.each([
    { name: 'one tool', questions: data.single.filter((_, at) => at % 5 === 0), least: 0.63 },
    { name: 'two tools', questions: data.multi, least: 0.73 },
  ])(
    'is better than plain BM25 for questions about $name, also for held-out ones',
    async ({ questions, least }) => {
      const [ours, plain] = [await ourRanking(data.tools), plainRanking(data.tools)];

      const own = qualityOf(ours, questions);
      const other = qualityOf(plain, questions);

      expect(own.tuning).toBeGreaterThanOrEqual(least);
      expect(own.heldOut).toBeGreaterThanOrEqual(least);
      expect(own.all).toBeGreaterThan(other.all + 0.05);
    },
  );
});

describe('the tools of 22 published npm servers', async () => {
  const index = await ToolIndex.build(realTools());
  const found = everydaySearches.map(([query, ...expected]) => {
    const names = index.search(query, { limit: 8 }).map(({ tool }) => tool.name);
    return { query, names, place: names.findIndex((name) => expected.includes(name)) };
  });

  test('are found with everyday words, mostly among the first three', () => {
    const first = found.filter(({ place }) => place === 0);
    const firstThree = found.filter(({ place }) => place >= 0 && place < 3);

    expect(found.filter(({ place }) => place === -1).length).toBeLessThanOrEqual(2);
    expect(first.length / found.length).toBeGreaterThanOrEqual(0.7);
    expect(firstThree.length / found.length).toBeGreaterThanOrEqual(0.85);
  });

  test('have about as many tokens as the tokenizer o200k counts', () => {
    const servers = Map.groupBy(realTools(), ({ server }) => server);

    const ratios = [...servers].map(([server, tools]) => {
      const counted = tools.reduce((sum, { name, description, inputSchema }) => {
        return sum + encode(JSON.stringify({ name, description, inputSchema })).length;
      }, 0);
      return { server, ratio: tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0) / counted };
    });

    expect(ratios.filter(({ ratio }) => ratio < 0.9 || ratio > 1.1)).toEqual([]);
  });
});
