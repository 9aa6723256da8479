import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The fix for a server whose Python script imports a module beside the script, because the server gets only the script.
 * Undefined without such a module. A package of the same name could come from an attacker.
 */
export function moduleBeside(
  module: string,
  { image = '', given = [] }: { image?: string; given?: readonly string[] },
): string | undefined {
  const script = [image.replace(/^uvx:\/\/|@local-\w+$/g, ''), ...given]
    .map((word) => word.replace(/\.py:\w+$/, '.py'))
    .find((word) => word.startsWith('/') && word.endsWith('.py'));
  if (script === undefined) return undefined;
  const directory = dirname(script);
  const found = [`${module}.py`, module]
    .map((name) => join(directory, name))
    .find((path) => existsSync(path));
  if (found === undefined) return undefined;
  return `run it with --volume "${directory}:${directory}:ro" -e "PYTHONPATH=${directory}", because it gets only ${script}, and the script also needs ${found}`;
}
