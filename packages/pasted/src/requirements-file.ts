import { registryFlags, registryNotes } from './package-registries.ts';

/** A package with its extras and versions, as ToolHive passes it on. */
const plain = /^[A-Za-z0-9][\w.-]*(?:\s*\[[\w\s,.-]*\])?\s*(?:[<>=!~][^;@#\s]*(?:\s+[^;@#\s]+)*)?$/;
/** Options that change how pip chooses among the files of a package. */
const ignored = /^--(?:pre|prefer-binary|only-binary|no-binary|require-hashes)(?:[\s=]|$)/;
/** Options that say where packages come from. */
const place = /^(-i|--index-url|--extra-index-url|-f|--find-links|--no-index)(?:[\s=]+(\S+))?/;
const otherSystem = /(?:sys_platform|platform_system)\s{0,9}==\s{0,9}['"](?:win32|darwin|Windows|Darwin)['"]/;

/**
 * The requirements in a file for `pip install -r`, and the line numbers with something else. Throws `invalid` if the
 * packages come from a registry of their own: the public registry could have others with these names.
 */
export function requirementsIn(text: string): { requirements: string[]; others: number[] } {
  const requirements: string[] = [];
  const others: number[] = [];
  let number = 0;
  // A backslash joins lines. Both count.
  const joined = text.replace(/^\uFEFF/, '').replaceAll(/\\\r?\n/g, '\0');
  for (const line of joined.split('\n')) {
    const parts = line.split('\0');
    const all = parts.join(' ');
    number += parts.length;
    const [requirement = '', marker = ''] = withoutComment(all).split(/;(.*)/s);
    const name = (requirement.split(' --hash=', 1)[0] ?? '').trim();
    const [, flag, url = ''] = place.exec(name) ?? [];
    if (flag !== undefined) registryNotes([[registryFlags.includes(flag) ? flag : '--index', url]]);
    if (flag !== undefined || name === '' || ignored.test(name) || otherSystem.test(marker)) continue;
    if (name.length <= 500 && plain.test(name)) requirements.push(name.replaceAll(/\s+/g, ''));
    else others.push(number - parts.length + 1);
  }
  return { requirements, others };
}

function withoutComment(line: string): string {
  if (line.trimStart().startsWith('#')) return '';
  const [content = ''] = line.split(/\s#/, 1);
  return content;
}
