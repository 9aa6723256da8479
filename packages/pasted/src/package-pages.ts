/** The command that runs the package of a page in a package registry. Undefined for other addresses. */
export function commandOfPage(address: string): readonly string[] | undefined {
  const { hostname = '', pathname = '' } = URL.parse(address) ?? {};
  const place = `${hostname.replace(/^www\./, '')}${pathname.replace(/\/+$/, '')}`;
  const [, npm, version] =
    /^npmjs\.com\/package\/(@[\w.-]+\/[\w.-]+|[\w.-]+)(?:\/v\/([\w.+-]+))?$/.exec(place) ?? [];
  if (npm !== undefined) return ['npx', '-y', version === undefined ? npm : `${npm}@${version}`];
  const [, python, release] = /^pypi\.org\/project\/([\w.-]+)(?:\/([\w.+!-]+))?$/.exec(place) ?? [];
  if (python !== undefined) return ['uvx', release === undefined ? python : `${python}==${release}`];
  const [, image] = /^hub\.docker\.com\/r\/([\w.-]+\/[\w.-]+)(?:\/tags)?$/.exec(place) ?? [];
  return image === undefined ? undefined : ['docker', 'run', '-i', '--rm', image];
}
