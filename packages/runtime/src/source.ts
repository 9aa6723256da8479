import { invalid, invalidField } from '@toolhive/contract/failure';

/** Package ecosystems that a server can be started from without a container image, by their URL scheme. */
export const packageSchemes = ['npx', 'uvx', 'go'] as const;

export type PackageScheme = (typeof packageSchemes)[number];

/**
 * A server as a package: `npx://NAME[@VERSION]`, `uvx://…`, `go://MODULE[@VERSION]` from a package registry, or a
 * directory or file of this machine: `npx:///PATH`, `uvx:///PATH`, `go:///PATH`.
 */
export interface PackageSource {
  kind: 'package';
  scheme: PackageScheme;
  /** The package name in its ecosystem's spelling. For a local package, the path. */
  name: string;
  /**
   * A version, tag, or range of the ecosystem. If absent, the latest version. For a local package, the content of the
   * last installation, because each start reads the files again.
   */
  version?: string;
  /** The deviations from the usual installation. Not part of the URL. */
  options?: PackageOptions;
}

/** What the user has chosen for the installation of a package. */
export interface PackageOptions {
  /** Further Python packages, as requirements: `mcp<2`. */
  with?: readonly string[];
  /** The Python version: `3.12`. */
  python?: string;
  /** The npm packages whose install scripts run. */
  allowScripts?: readonly string[];
}

/** A server published as a container image. */
export interface ImageSource {
  kind: 'image';
  /** An image reference: `[HOST/]PATH[:TAG][@DIGEST]`. */
  image: string;
}

/** Where a server's program comes from. */
export type ServerSource = ImageSource | PackageSource;

/** Parses user input or a run config value: a package URL, or else an image reference. */
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

/** Formats a source for `parseSource`. */
export function formatSource(source: ServerSource): string {
  if (source.kind === 'image') return source.image;
  return `${source.scheme}://${source.name}${source.version === undefined ? '' : `@${source.version}`}`;
}

/** Whether a package is a directory or file of this machine. Only users may name one, and never a registry. */
export function isLocalPath({ name }: PackageSource): boolean {
  return localPath.test(name);
}

function isPackageScheme(scheme: string): scheme is PackageScheme {
  return (packageSchemes as readonly string[]).includes(scheme);
}

const imageReference =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,128})?$/;

function parseImage(text: string): ImageSource {
  if (text.length > 512 || !imageReference.test(text)) {
    throw invalid(`${JSON.stringify(text)} is not an image reference`, {
      hint: 'use the form [HOST/]PATH[:TAG] in lowercase, for example ghcr.io/example/server:1.2.0',
    });
  }
  return { kind: 'image', image: text };
}

const localPath = /^(?:\/|\.{1,2}(?:\/|$))/;
const localSource = /^([^\p{Cc}]+?)(?:@(local-[0-9a-f]{16}))?$/u;

const packageNames: Record<PackageScheme, RegExp> = {
  npx: /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i,
  uvx: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i,
  go: /^[\w.~-]+(?:\/[\w.~-]+)*\/?$/,
};
const packageVersion = /^[\w.^~<>=*+-][\w.^~<>=*+ -]*$/;

function parsePackage(scheme: PackageScheme, rest: string): PackageSource {
  if (localPath.test(rest)) return parseLocal(scheme, rest);
  const at = rest.indexOf('@', 1);
  const name = at === -1 ? rest : rest.slice(0, at);
  const version = at === -1 ? undefined : rest.slice(at + 1);
  if (name.length > 256 || !packageNames[scheme].test(name) || name.startsWith('-')) {
    throw invalid(`${JSON.stringify(name)} is not a package name for ${scheme}://`);
  }
  if (version !== undefined && (version.length > 128 || !packageVersion.test(version))) {
    throw invalid(`${JSON.stringify(version)} is not a package version`, {
      hint: `omit the version to use the latest one: ${scheme}://${name}`,
    });
  }
  return { kind: 'package', scheme, name, ...(version === undefined ? {} : { version }) };
}

function parseLocal(scheme: PackageScheme, rest: string): PackageSource {
  const [, name, version] = localSource.exec(rest) ?? [];
  if (name === undefined) throw invalid(`${JSON.stringify(rest)} is not a path`);
  return { kind: 'package', scheme, name, ...(version === undefined ? {} : { version }) };
}

const requirement =
  /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?:\[[a-z0-9,._ -]+\])?(?: *(?:[<>=!~]=?|===) *[\w.*+!-]+(?: *, *(?:[<>=!~]=?|===) *[\w.*+!-]+)*)?$/i;

/** Adds options to a source. Throws `invalid` if they are wrong, or for another kind of package. */
export function withOptions(source: ServerSource, options: PackageOptions): ServerSource {
  const { with: others = [], python, allowScripts = [] } = options;
  const isPython = others.length > 0 || python !== undefined;
  if (!isPython && allowScripts.length === 0) return source;
  const scheme = source.kind === 'package' ? source.scheme : undefined;
  if (
    source.kind !== 'package' ||
    (isPython && scheme !== 'uvx') ||
    (allowScripts.length > 0 && scheme !== 'npx')
  ) {
    const [flags, kind] = isPython ? ['--with and --python', 'uvx://'] : ['--allow-scripts', 'npx://'];
    throw invalid(`${formatSource(source)} is not a package for ${flags}`, {
      hint: `use them with ${kind} packages`,
    });
  }
  for (const other of others) {
    if (other.length > 256 || !requirement.test(other)) {
      throw invalidField('/python_with', `${JSON.stringify(other)} is not a Python requirement`, {
        hint: 'use a name, optionally with a version, for example mcp<2',
      });
    }
  }
  if (python !== undefined && !/^\d+(?:\.\d+){0,2}$/.test(python)) {
    throw invalidField('/python_version', `${JSON.stringify(python)} is not a Python version`, {
      hint: 'use a version such as 3.12',
    });
  }
  for (const name of allowScripts) {
    if (name.length > 256 || name.startsWith('-') || !packageNames.npx.test(name)) {
      throw invalidField('/allow_scripts', `${JSON.stringify(name)} is not an npm package name`);
    }
  }
  return { ...source, options };
}
