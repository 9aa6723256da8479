import { readFile } from 'node:fs/promises';
import { invalid, messageOf } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { parse, stringify } from 'yaml';
import type { CommandCall } from '../../command.ts';
import { translateValues } from './values.ts';

/** Prints the values for the chart of this operator. Fails for values that it cannot honor, and prints nothing then. */
export async function run({ arguments: [file = ''], out }: CommandCall): Promise<void> {
  const { values, dropped, refused } = translateValues(await valuesIn(file));
  for (const { path, reason } of dropped) out.note(printable(`left out ${path}: ${reason}`));
  if (refused.length > 0) {
    const reasons = refused.map(({ path, reason }) => printable(`${path}: ${reason}`));
    throw invalid(`${file} has values that this chart cannot honor:\n${reasons.join('\n')}`, {
      hint: 'remove these values, and run the command again',
    });
  }
  out.result({ values, dropped }, (page) => page.verbatim(printable(stringify(values)).trimEnd()));
}

async function valuesIn(file: string): Promise<Record<string, unknown>> {
  let values: unknown;
  try {
    values = parse(await readFile(file, 'utf8'), { maxAliasCount: 100 });
  } catch (cause) {
    throw invalid(`cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
  if (values === null || values === undefined) return {};
  if (typeof values !== 'object' || Array.isArray(values))
    throw invalid(
      `${file} is not a values file: expected a map, found ${Array.isArray(values) ? 'a list' : typeof values}`,
      {
        hint: 'use the file that you passed to helm with --values',
      },
    );
  return values as Record<string, unknown>;
}
