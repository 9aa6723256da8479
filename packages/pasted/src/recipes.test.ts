import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { previewOf } from './testing/read-document.ts';

interface Recipe {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  /** What runs, for a recipe that names something that can run. */
  result?: Result;
  /** The part that the reason names, for a recipe that names nothing that can run here. */
  reason?: string;
  /** Something that could run, but needs more than ToolHive grants or knows. */
  refused?: boolean;
}

interface Result {
  source: string;
  args?: string[];
  env?: Record<string, string>;
  volumes?: string[];
  python?: string;
  with?: string[];
  needs?: string[];
}

/** The installation recipes of a public registry of MCP servers. */
const recipes = JSON.parse(
  readFileSync(new URL('testing/recipes.json', import.meta.url), 'utf8'),
) as Recipe[];

const shown = ({ command, args = [], url }: Recipe): string => url ?? [command, ...args].join(' ');
const titled = (some: Recipe[]) => some.map((recipe) => [shown(recipe), recipe] as const);

async function resultOf({ command, args, env, url }: Recipe) {
  const [server] = await previewOf({ mcpServers: { server: { command, args, env, url } } });
  const { request = {}, needs = [], problem } = server ?? {};
  const { image, cmd_arguments = [], env_vars = {}, volumes = [], python_version, python_with } = request;
  return {
    problem,
    result: {
      source: image ?? request.url,
      args: cmd_arguments,
      env: env_vars,
      volumes: (volumes ?? []).map((volume) => volume.replace(homedir(), '~')),
      python: python_version,
      with: python_with,
      needs: needs.map(({ name }) => name),
    },
  };
}

describe('a recipe of a public registry', () => {
  test.each(titled(recipes.filter(({ result }) => result !== undefined)))(
    'runs: %s',
    async (_title, recipe) => {
      const { problem, result } = await resultOf(recipe);

      expect(problem).toBeUndefined();
      expect(result).toEqual({
        args: [],
        env: {},
        volumes: [],
        needs: [],
        python: undefined,
        with: undefined,
        ...recipe.result,
      });
    },
  );

  test.each(titled(recipes.filter(({ reason }) => reason !== undefined)))(
    'that cannot run has a reason that names the part: %s',
    async (_title, recipe) => {
      const { problem } = await resultOf(recipe);

      expect(problem).toContain(recipe.reason);
    },
  );

  test('that names something that can run is accepted in at least 95 of 100 cases', () => {
    const accepted = recipes.filter(({ result }) => result !== undefined).length;
    const refused = recipes.filter((recipe) => recipe.refused).length;

    expect(accepted / (accepted + refused)).toBeGreaterThanOrEqual(0.95);
  });
});
