import { invalid } from '@toolhive/contract/failure';
import type { Progress } from '@toolhive/runtime/runtime';
import { packageSchemes, parseSource } from '@toolhive/runtime/source';
import type { PackageSource } from '@toolhive/runtime/source';
import type { StateWing } from '../wings/state.ts';
import type { SupplyWing } from '../wings/supply.ts';
import { installationSettings } from '@toolhive/state/values';

/** How a package becomes a container image. */
export function writeRecipe(
  { runtimes }: SupplyWing,
  { source }: { source: string },
): { dockerfile: string } {
  return { dockerfile: runtimes.images().recipe(packageOf(source)) };
}

/** Builds a container image from a package. */
export async function buildImage(
  { runtimes, settings, packages }: StateWing & SupplyWing,
  { source, tag }: { source: string; tag?: string | undefined },
  { report, signal }: { report: Progress; signal: AbortSignal },
): Promise<{ image: string }> {
  const parsed = packageOf(source);
  return {
    image: await runtimes.images().build(parsed, {
      ...installationSettings(settings),
      inspect: (...inspected) => packages.inspect(...inspected),
      tag,
      report,
      signal,
    }),
  };
}

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

function packageOf(text: string): PackageSource {
  const source = parseSource(text);
  if (source.kind === 'package') return source;
  throw invalid(`${text} is not a package`, {
    hint: `use ${alternatives.format(packageSchemes.map((scheme) => `${scheme}://NAME`))}`,
  });
}
