import { basename } from 'node:path';
import { WorkloadName, distinctHost } from '@toolhive/contract/names';
import { isLocalPath } from '@toolhive/runtime/source';
import type { InstallableSource, ServerSource } from '@toolhive/runtime/source';

/** A name for a workload that was given none: the registry's, or one made from the source. */
export function deriveName(source: ServerSource, registryName: string | undefined): string {
  const derived =
    registryName ?? (source.kind === 'image' ? nameOfImage(source.image) : nameOfPackage(source));
  return WorkloadName.safeParse(derived).success ? derived : 'workload';
}

/** A name for a remote server: that of its host, without the parts that say nothing. */
export function nameOfHost({ hostname }: URL): string {
  const derived = asName(distinctHost(hostname));
  return WorkloadName.safeParse(derived).success ? derived : 'workload';
}

/** A name for a workload from a bundle, which has a name of its own. */
export function nameOfBundle(name: string): string {
  const derived = asName(name.replace(/^@/, ''));
  return WorkloadName.safeParse(derived).success ? derived : 'workload';
}

/** The last two parts of the path, without tag, digest and port: `docker.io/library/nginx:1` → `library-nginx`. */
function nameOfImage(image: string): string {
  const [withoutDigest = ''] = image.split('@');
  const untagged = withoutDigest.replace(/:[^/:]*$/, '');
  return asName(
    untagged
      .split('/')
      .map((part) => part.replace(/:\d+$/, ''))
      .slice(-2)
      .join('-'),
  );
}

/** `@scope/name` → `scope-name`. For a Go module, the last two parts of its path. For a local package, its own name. */
function nameOfPackage(source: InstallableSource): string {
  const { kind, name } = source;
  if (kind === 'bundle') return asName(basename(name.replace(/[?#].*$/, '')).replace(/\.(?:mcpb|dxt)$/i, ''));
  if (isLocalPath(source)) return asName(basename(name).replace(/-\d[^/]*\.(?:whl|tgz)$|\.\w+$/, ''));
  return asName(
    name
      .replace(/^@|\.git$/g, '')
      .split('/')
      .filter(Boolean)
      .slice(-2)
      .join('-'),
  );
}

function asName(text: string): string {
  return text
    .replace(/[^A-Za-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 100);
}
