import { insteadOfWebSocket } from '@toolhive/contract/sse-url';
import { invalid, invalidField } from '@toolhive/contract/failure';
import type { PrereleaseMode } from '@toolhive/contract/prerelease';
import { type GitPlace, formatGit, fragmentText, isGitSpec, parseGit } from '@toolhive/contract/git-source';

/** Package ecosystems that a server can be started from without a container image, by their URL scheme. */
export const packageSchemes = ['npx', 'uvx', 'go'] as const;

export type PackageScheme = (typeof packageSchemes)[number];

/**
 * A server as a package: `npx://NAME[@VERSION]`, `uvx://NAME[EXTRAS][@VERSION]`, `go://MODULE[@VERSION]` from a package
 * registry, a directory or file of this machine: `npx:///PATH`, `uvx:///PATH`, `go:///PATH`, or a Git repository:
 * `npx://git+https://HOST/PATH[@COMMIT][#ref=REF&subdirectory=PATH]`, `uvx://…`. Where a package has several programs,
 * `#program=NAME` chooses one.
 */
export interface PackageSource {
  kind: 'package';
  scheme: PackageScheme;
  /** The package name in its ecosystem's spelling. For a local package, the path. For Git, `git+` and the URL. */
  name: string;
  /** The repository. Its version is a commit. */
  git?: GitPlace;
  /** The optional parts of a Python package that are installed too. */
  extras?: readonly string[];
  /** The program of the package that is the server. By default, the one named like the package. */
  program?: string;
  /**
   * A version, tag, or range of the ecosystem. If absent, the latest version. For a local package, the content of the
   * last installation, because each start reads the files again.
   */
  version?: string;
  /** The deviations from the usual installation. Not part of the URL. */
  options?: PackageOptions;
}

/** A package in a Git repository. Only users may name one, and never a registry. */
export type RepositorySource = PackageSource & Required<Pick<PackageSource, 'git'>>;

export function isRepository(source: PackageSource): source is RepositorySource {
  return source.git !== undefined;
}

/** What the user has chosen for the installation of a package. */
export interface PackageOptions {
  /** Further Python packages, as requirements: `mcp<2`. */
  with?: readonly string[];
  /** The Python version: `3.12`. */
  python?: string;
  /** Only Python packages from before the end of this day, or before this time: `2025-01-31`. */
  excludeNewer?: string;
  /** Which pre-releases of Python packages uv accepts. */
  prerelease?: PrereleaseMode;
  /** The npm packages whose install scripts run. */
  allowScripts?: readonly string[];
}

/** A server published as a container image. */
export interface ImageSource {
  kind: 'image';
  /** An image reference: `[HOST/]PATH[:TAG][@DIGEST]`. */
  image: string;
}

/**
 * A bundle, which contains a server and describes how it starts: `mcpb:///PATH[@sha256-HASH]`,
 * `mcpb://https://HOST/PATH[@sha256-HASH]`.
 */
export interface BundleSource {
  kind: 'bundle';
  scheme: typeof bundleScheme;
  /** An absolute path of this machine, or an https URL. */
  name: string;
  /** `sha256-` and the hash of the content. If absent, the present content. */
  version?: string;
  /** Only the Python version. */
  options?: Pick<PackageOptions, 'python'>;
}

export const bundleScheme = 'mcpb';

/** Where a server's program comes from. */
export type ServerSource = ImageSource | PackageSource | BundleSource;

/** What ToolHive installs itself, in a directory for each version. */
export type InstallableSource = PackageSource | BundleSource;

/** Parses user input or a run config value: a package URL, or else an image reference. */
export function parseSource(text: string): ServerSource {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) return parseImage(text);
  if (scheme === bundleScheme) return parseBundle(text, rest);
  if (!isPackageScheme(scheme)) {
    throw invalid(`${text} has the unknown scheme ${scheme}`, {
      hint: /^wss?$/.test(scheme)
        ? insteadOfWebSocket
        : isGitSpec(text)
          ? `name the kind of package: npx://${text} or uvx://${text}`
          : `use ${[...packageSchemes, bundleScheme].map((known) => `${known}://`).join(', ')} or an image reference`,
    });
  }
  return parsePackage(scheme, rest);
}

/** Formats a source for `parseSource`. */
export function formatSource(source: ServerSource): string {
  if (source.kind === 'image') return source.image;
  if (source.kind === 'bundle') {
    const { name, version } = source;
    return `${bundleScheme}://${name}${version === undefined ? '' : `@${version}`}`;
  }
  const { scheme, name, version, extras = [], git: place, program } = source;
  const all = extras.join(',');
  if (place !== undefined)
    return `${scheme}://${formatGit({ place, commit: version, extras: all }, program)}`;
  return `${scheme}://${name}${all === '' ? '' : `[${all}]`}${version === undefined ? '' : `@${version}`}${fragmentText({ program })}`;
}

/** A Python requirement of a package. A plain version means exactly that version, as in `uvx NAME@VERSION`. */
export function pythonRequirement({ name, version, extras = [] }: PackageSource): string {
  const full = extras.length === 0 ? name : `${name}[${extras.join(',')}]`;
  if (version === undefined || version === 'latest') return full;
  return /^[<>=~!]/.test(version) ? `${full}${version}` : `${full}==${version}`;
}

/** Whether a package is a directory or file of this machine, which is read again at each start. */
export function isLocalPath({ kind, name }: InstallableSource): boolean {
  return kind === 'package' && localPath.test(name);
}

/** The SHA-256 of a bundle's content, in hexadecimal notation, if the source names it. */
export const bundleHash = ({ version }: BundleSource): string | undefined => version?.slice('sha256-'.length);

const bundleText = /^([^\p{Cc}]+?)(?:@(sha256-[0-9a-f]{64}))?$/u;

function parseBundle(text: string, rest: string): BundleSource {
  const [, name = '', version] = bundleText.exec(rest) ?? [];
  const url = URL.parse(name);
  const isHttps = url?.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
  if (name.length <= 4096 && (localPath.test(name) || isHttps)) {
    return { kind: 'bundle', scheme: bundleScheme, name, ...(version === undefined ? {} : { version }) };
  }
  if (url?.protocol === 'http:') {
    throw invalid(
      `${JSON.stringify(text.slice(0, 200))} is not https, so anyone on the way could replace the bundle`,
      {
        hint: 'use an https URL, or download the bundle and run the file',
      },
    );
  }
  // The text may contain a password.
  const shown = /@.*@|\/\/[^/]*\/\/[^/]*@/.test(text) ? 'this' : JSON.stringify(text.slice(0, 200));
  throw invalid(`${shown} is not a bundle`, {
    hint: 'use mcpb:///PATH or mcpb://https://HOST/PATH, optionally with @sha256-HASH at the end',
  });
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
const localSource = /^([^\p{Cc}]+?)(?:@(local-[0-9a-f]{16}))?(?:#program=([\w.-]*))?$/u;

const packageNames: Record<PackageScheme, RegExp> = {
  npx: /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i,
  uvx: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i,
  go: /^[\w.~-]+(?:\/[\w.~-]+)*\/?$/,
};
const packageVersion = /^[\w.^~<>=!*+-][\w.^~<>=!*+,| -]*$/;

function parsePackage(scheme: PackageScheme, rest: string): PackageSource {
  if (localPath.test(rest)) return parseLocal(scheme, rest);
  if (isGitSpec(rest) && scheme !== 'go') return parseRepository(scheme, rest);
  const [spec = '', fragment = ''] = rest.split(/#(.*)/s);
  const at = spec.indexOf('@', 1);
  const [whole, version] = at === -1 ? [spec] : [spec.slice(0, at), spec.slice(at + 1)];
  const [, name = '', extras] = /^([^[]*)(?:\[([^\]]*)\])?$/.exec(whole) ?? ['', whole];
  if (name.length > 256 || !packageNames[scheme].test(name) || name.startsWith('-')) {
    throw invalid(`${JSON.stringify(name)} is not a package name for ${scheme}://`);
  }
  if (version !== undefined && (version.length > 128 || !packageVersion.test(version))) {
    throw invalid(`${JSON.stringify(version)} is not a package version`, {
      hint: `omit the version to use the latest one: ${scheme}://${name}`,
    });
  }
  return {
    kind: 'package',
    scheme,
    name,
    ...(version === undefined ? {} : { version }),
    ...extrasOf(scheme, extras),
    ...programOf(scheme, new URLSearchParams(fragment)),
  };
}

function parseRepository(scheme: PackageScheme, spec: string): PackageSource {
  const { place, commit, extras, rest } = parseGit(spec);
  return {
    kind: 'package',
    scheme,
    name: `git+${place.url}`,
    git: place,
    // Any other reference than a commit can mean something else tomorrow.
    ...(commit === undefined ? {} : { version: commit }),
    ...extrasOf(scheme, extras),
    ...programOf(scheme, rest),
  };
}

function extrasOf(scheme: PackageScheme, text: string | undefined): Pick<PackageSource, 'extras'> {
  if (text === undefined) return {};
  const extras = [...new Set(text.split(',').map((extra) => extra.trim()))].filter((extra) => extra !== '');
  const wrong = extras.find((extra) => extra.length > 100 || !packageNames.uvx.test(extra));
  if (scheme !== 'uvx' || wrong !== undefined) {
    throw invalid(`${JSON.stringify(wrong ?? text)} is not the extra of a package for ${scheme}://`, {
      hint: 'only Python packages have extras, as in uvx://NAME[EXTRA]',
    });
  }
  return extras.length === 0 ? {} : { extras: extras.toSorted() };
}

function programOf(scheme: PackageScheme, fragment: URLSearchParams): Pick<PackageSource, 'program'> {
  const unknown = [...fragment.keys()].find((key) => key !== 'program');
  const program = fragment.get('program') ?? undefined;
  if (unknown !== undefined || (program !== undefined && scheme === 'go')) {
    throw invalid(`unknown part ${JSON.stringify(unknown ?? 'program')} after # in a ${scheme}:// URL`, {
      hint: 'to choose a program of an npm or Python package, use #program=NAME',
    });
  }
  if (program === undefined) return {};
  if (program.length > 100 || !/^[\w][\w.-]*$/.test(program)) {
    throw invalid(`${JSON.stringify(program)} is not the name of a program of a package`, {
      hint: 'packages name their programs, for example in [project.scripts] or bin. A path in a package is not a program',
    });
  }
  return { program };
}

function parseLocal(scheme: PackageScheme, rest: string): PackageSource {
  const [, name, version, program] = localSource.exec(rest) ?? [];
  if (name === undefined) throw invalid(`${JSON.stringify(rest)} is not a path`);
  if (program !== undefined && scheme !== 'uvx') {
    throw invalid(`${scheme}:// cannot choose a program in a directory`, {
      hint: 'name its file instead, or make it the main program',
    });
  }
  return {
    kind: 'package',
    scheme,
    name,
    ...(version === undefined ? {} : { version }),
    ...(program === undefined ? {} : programOf(scheme, new URLSearchParams({ program }))),
  };
}

const requirement =
  /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?:\[[a-z0-9,._ -]+\])?(?: *(?:[<>=!~]=?|===) *[\w.*+!-]+(?: *, *(?:[<>=!~]=?|===) *[\w.*+!-]+)*)?$/i;

const day = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Adds options to a source. Throws `invalid` if they are wrong, or for another kind of package. */
export function withOptions(source: ServerSource, options: PackageOptions): ServerSource {
  const { with: others = [], python, excludeNewer, prerelease, allowScripts = [] } = options;
  const isFurther = others.length > 0 || excludeNewer !== undefined || prerelease !== undefined;
  const isPython = isFurther || python !== undefined;
  if (!isPython && allowScripts.length === 0) return source;
  const scheme = source.kind === 'package' ? source.scheme : undefined;
  const isOnlyPython = !isFurther && allowScripts.length === 0;
  if (source.kind === 'bundle' && python !== undefined && isOnlyPython)
    return { ...source, options: { python: pythonVersion(python) } };
  if (
    source.kind !== 'package' ||
    (isPython && scheme !== 'uvx') ||
    (allowScripts.length > 0 && scheme !== 'npx')
  ) {
    const [flags, kind] = isPython
      ? ['--with, --python, --exclude-newer, and --prerelease', 'uvx://']
      : ['--allow-scripts', 'npx://'];
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
  if (python !== undefined) pythonVersion(python);
  if (excludeNewer !== undefined && (!day.test(excludeNewer) || Number.isNaN(Date.parse(excludeNewer)))) {
    throw invalidField('/python_exclude_newer', `${JSON.stringify(excludeNewer)} is not a date`, {
      hint: 'use a date such as 2025-01-31, or a time such as 2025-01-31T12:00:00Z',
    });
  }
  for (const name of allowScripts) {
    if (name.length > 256 || name.startsWith('-') || !packageNames.npx.test(name)) {
      throw invalidField('/allow_scripts', `${JSON.stringify(name)} is not an npm package name`);
    }
  }
  return { ...source, options };
}

function pythonVersion(text: string): string {
  if (/^\d+(?:\.\d+){0,2}$/.test(text)) return text;
  throw invalidField('/python_version', `${JSON.stringify(text)} is not a Python version`, {
    hint: 'use a version such as 3.12',
  });
}
