import { invalid } from '@toolhive/contract/failure';

/** Package ecosystems that a server can be started from without a container image, by their URL scheme. */
export const packageSchemes = ['npx', 'uvx', 'go'] as const;

export type PackageScheme = (typeof packageSchemes)[number];

/** A server published as a package: `npx://NAME[@VERSION]`, `uvx://…`, `go://MODULE[@VERSION]`. */
export interface PackageSource {
  kind: 'package';
  scheme: PackageScheme;
  /** The package's name as its ecosystem spells it; for a local Go module, its path. */
  name: string;
  /** A version or a tag or range of the ecosystem; absent means the latest. */
  version?: string;
}

/** A server published as a container image. */
export interface ImageSource {
  kind: 'image';
  /** An image reference: `[HOST/]PATH[:TAG][@DIGEST]`. */
  image: string;
}

/** Where a server's program comes from. */
export type ServerSource = ImageSource | PackageSource;

/** Reads what a person or a run config names: a package URL, or else an image reference. */
export function parseSource(text: string): ServerSource {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) return parseImage(text);
  if (!isPackageScheme(scheme)) {
    throw invalid(`${text} has the unknown scheme ${scheme}`, {
      hint: `use ${packageSchemes.map((known) => `${known}://`).join(', ')} or an image reference`,
    });
  }
  return parsePackage(scheme, rest);
}

/** Writes a source the way `parseSource` reads it. */
export function formatSource(source: ServerSource): string {
  if (source.kind === 'image') return source.image;
  return `${source.scheme}://${source.name}${source.version === undefined ? '' : `@${source.version}`}`;
}

/** A local Go module: only Go packages may be named by a path. */
export function isLocalPath(source: PackageSource): boolean {
  return source.scheme === 'go' && /^(\/|\.\.?(\/|$))/.test(source.name);
}

function isPackageScheme(scheme: string): scheme is PackageScheme {
  return (packageSchemes as readonly string[]).includes(scheme);
}

const imageReference =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,128})?$/;

function parseImage(text: string): ImageSource {
  if (text.length > 512 || !imageReference.test(text)) {
    throw invalid(`${JSON.stringify(text)} is not an image reference`, {
      hint: 'write it as [HOST/]PATH[:TAG] in lower case, for instance ghcr.io/example/server:1.2.0',
    });
  }
  return { kind: 'image', image: text };
}

const packageNames: Record<PackageScheme, RegExp> = {
  npx: /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i,
  uvx: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i,
  go: /^(?:\.{0,2}\/)?[\w.~-]+(?:\/[\w.~-]+)*\/?$|^\.{1,2}\/?$/,
};
const packageVersion = /^[\w.^~<>=*+-][\w.^~<>=*+ -]*$/;

function parsePackage(scheme: PackageScheme, rest: string): PackageSource {
  const at = rest.indexOf('@', 1);
  const name = at === -1 ? rest : rest.slice(0, at);
  const version = at === -1 ? undefined : rest.slice(at + 1);
  if (name.length > 256 || !packageNames[scheme].test(name) || name.startsWith('-')) {
    throw invalid(`${JSON.stringify(name)} is not a package name for ${scheme}://`);
  }
  if (version !== undefined && (version.length > 128 || !packageVersion.test(version))) {
    throw invalid(`${JSON.stringify(version)} is not a package version`, {
      hint: `leave it out for the latest: ${scheme}://${name}`,
    });
  }
  return { kind: 'package', scheme, name, ...(version === undefined ? {} : { version }) };
}
