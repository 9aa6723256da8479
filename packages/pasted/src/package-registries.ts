import { invalid } from '@toolhive/contract/failure';
import type { OtherFlags } from './other-flags.ts';

/** The flags of npx and uvx that name a package registry. */
export const registryFlags: readonly string[] = [
  '--registry',
  '--index-url',
  '-i',
  '--default-index',
  '--index',
  '--extra-index-url',
];

/** The public registries and the mirrors of them, which have the same packages. */
const publicHosts: ReadonlySet<string> = new Set(
  `registry.npmjs.org registry.yarnpkg.com registry.npmmirror.com registry.npm.taobao.org pypi.org
  pypi.tuna.tsinghua.edu.cn mirrors.tuna.tsinghua.edu.cn pypi.mirrors.ustc.edu.cn mirrors.ustc.edu.cn
  mirrors.aliyun.com mirrors.cloud.tencent.com mirrors.bfsu.edu.cn mirrors.huaweicloud.com
  repo.huaweicloud.com`.split(/\s+/),
);

/**
 * The note on a registry that the command names. Throws for a registry with packages of its own: the public registry
 * could have another package of that name.
 */
export function registryNotes(given: OtherFlags['given']): string[] {
  const named = given.filter(([flag]) => registryFlags.includes(flag));
  for (const [flag, url] of named) {
    const host = URL.parse(url)?.hostname ?? '';
    if (publicHosts.has(host)) continue;
    throw invalid(`ToolHive does not install packages from the registry in ${flag}`, {
      hint: `if the public registry has the package, omit ${flag}`,
    });
  }
  return named.length === 0
    ? []
    : ['ToolHive installs the package from its usual registry, not from a mirror'];
}
