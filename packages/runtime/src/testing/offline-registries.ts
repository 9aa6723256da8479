import type { NpmRegistry } from './npm-registry.ts';

/** What a registry serves, by path, for a base image without network. */
export async function downloadFiles(origin: string, paths: readonly string[]): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  for (const path of paths) {
    const response = await fetch(origin + path);
    if (response.ok) contents.set(path, Buffer.from(await response.arrayBuffer()));
  }
  return contents;
}

/** The packages of an npm registry, as `buildBaseImage` expects them. */
export async function npmFiles(
  { url }: NpmRegistry,
  packages: Readonly<Record<string, readonly string[]>>,
): Promise<Map<string, string | Buffer>> {
  const origin = url.replace(/\/$/, '');
  const files = new Map<string, string | Buffer>();
  for (const [name, versions] of Object.entries(packages)) {
    const tarballs = versions.map((version) => `/${name}/-/${version}.tgz`);
    for (const [path, content] of await downloadFiles(origin, [`/${name}`, ...tarballs])) {
      if (path !== `/${name}`) files.set(path, content);
      else files.set(`${path}/packument.json`, String(content).replaceAll(origin, 'http://registry.example'));
    }
  }
  return files;
}
