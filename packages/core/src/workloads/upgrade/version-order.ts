/**
 * Whether a version of an npm or Python package is newer than another one. Releases are newer than their previews
 * (Semantic Versioning, section 11, and PEP 440). Of two previews of one release, the other one counts as newer.
 */
export function isNewer(version: string, other: string): boolean {
  const [one, two] = [partsOf(version), partsOf(other)];
  for (let at = 0; at < Math.max(one.numbers.length, two.numbers.length); at += 1) {
    const difference = (one.numbers[at] ?? 0) - (two.numbers[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  if (one.isPreview !== two.isPreview) return two.isPreview;
  return one.rest !== two.rest && !two.rest.startsWith('.post');
}

function partsOf(version: string): { numbers: number[]; rest: string; isPreview: boolean } {
  const [, numbers = '', rest = ''] = /^v?(\d+(?:\.\d+)*)([^+]*)/.exec(version) ?? [];
  const isPreview = rest !== '' && !rest.startsWith('.post');
  return { numbers: numbers.split('.').map(Number), rest, isPreview };
}
