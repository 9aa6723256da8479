import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { isPath, readLocalPath } from './local-path.ts';
import { absolutePath } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';

/** Go's flags that change how it builds, and not the server. */
const switches = new Set(['v', 'x', 'a', 'race', 'trimpath', 'buildvcs']);
const withValues = new Set(['mod', 'p', 'ldflags', 'gcflags', 'asmflags']);

/** `go run [FLAGS] MODULE`. Go reads `--name` as `-name`, and never joins flags of one letter. */
export function readGoRun(all: readonly string[], from: PastedFrom): Pasted | Promise<Pasted> {
  let at = 0;
  for (; /^-./.test(all[at] ?? ''); at += 1) {
    const [, flag = '', value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(all[at] ?? '') ?? [];
    if (withValues.has(flag)) at += value === undefined ? 1 : 0;
    else if (!switches.has(flag)) {
      throw invalid(`the flag -${flag} of go run is not supported`, {
        hint: `omit -${flag}, or use a flag of thv run before go`,
      });
    }
  }
  const [module, ...args] = all.slice(at);
  if (module === undefined) throw invalid('the module for go run is missing');
  if (module.endsWith('.go')) return readGoFile(module, args, from);
  if (isPath(module)) return readLocalPath([module, ...args], from, 'go');
  return { request: { image: `go://${module}`, cmd_arguments: args }, notes: [] };
}

/** `go run main.go tools.go --flag`: the package in their directory. */
function readGoFile(file: string, args: readonly string[], from: PastedFrom): Promise<Pasted> {
  const directory = dirname(absolutePath(file, from));
  if (!existsSync(join(directory, 'go.mod'))) {
    throw invalid(`${directory} has no go.mod, so ToolHive cannot build ${file}`, {
      hint: 'run a directory with a go.mod, or a published module: thv run go://HOST/PATH@VERSION',
    });
  }
  const end = args.findIndex((arg) => !arg.endsWith('.go'));
  return readLocalPath([directory, ...(end === -1 ? [] : args.slice(end))], from, 'go');
}
