import { unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Artifact, PackageContents } from '../runtime.ts';

const Lockfile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      /** The name in the registry, if a package uses an alias. */
      name: z.string().optional().catch(undefined),
      version: z.string().optional().catch(undefined),
      integrity: z.string().max(1000).optional().catch(undefined),
    }),
  ),
});

/** npm's downloads, with the hashes that npm compared. Dependencies from outside a registry have no hashes. */
export function npmContents(
  lockfile: unknown,
  { name, registry, publishedAt }: Pick<PackageContents, 'registry' | 'publishedAt'> & { name: string },
): PackageContents {
  const packages = Lockfile.safeParse(lockfile).data?.packages ?? {};
  const all = Object.entries(packages).flatMap(([path, { name: real, version, integrity }]) =>
    version === undefined || integrity === undefined
      ? []
      : [{ path, name: real ?? path.replace(/^.*node_modules\//, ''), version, integrity }],
  );
  const own = all.find(({ path }) => path === `node_modules/${name}`);
  if (own === undefined) throw unavailable(`npm installed ${name} without the hash of its content`);
  const dependencies = all.filter((one) => one !== own);
  return { registry, publishedAt, artifacts: [artifactOf(own), ...dependencies.map(artifactOf)] };
}

const artifactOf = ({ name, version, integrity }: Artifact): Artifact => ({ name, version, integrity });
