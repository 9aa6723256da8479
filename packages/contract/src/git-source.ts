import { invalid } from './failure.ts';
import { isLoopback } from './loopback.ts';

/** Where a package is in a Git repository. */
export interface GitPlace {
  /** `https://HOST/PATH`. */
  url: string;
  /** A branch, a tag, an abbreviated commit, or `semver:RANGE`. If absent, the default branch. */
  ref?: string;
  /** The directory of the package, if that is not the repository. */
  subdirectory?: string;
}

/** The hosts that npm has short names for. Other names mean nothing to npm either. */
const hosts: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  gist: 'gist.github.com',
};

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Whether a text is the complete ID of a commit, which always means the same content. */
export const isCommit = (text: string | undefined): boolean => text !== undefined && COMMIT.test(text);

/** Whether a text names a package in a Git repository in a notation of npm, uv, pip, or ToolHive. */
export function isGitSpec(text: string): boolean {
  return (
    /^(?:git\+|git:|ssh:|git@[^/]+:)/i.test(text) ||
    /^[\w.-]+\s*(?:\[[^\]]*\]\s*)?@\s*git\+/i.test(text) ||
    new RegExp(`^(?:${Object.keys(hosts).join('|')}):`, 'i').test(text) ||
    /^https?:\/\/[^#]*\.git(?:[@#]|$)/i.test(text) ||
    isOnHost(text) ||
    /^[\w-][\w.-]*\/[\w.-]+(?:#.*)?$/.test(text)
  );
}

/** `https://github.com/OWNER/REPO` is a repository for npm and uv, even without `git+`. */
function isOnHost(text: string): boolean {
  const url = /^https?:/i.test(text) ? URL.parse(text) : null;
  return (
    url !== null &&
    Object.values(hosts).includes(url.hostname.replace(/^www\./, '')) &&
    /^\/[\w.-]+\/[\w.-]+\/?$/.test(url.pathname.replace(/@.*$/, ''))
  );
}

/** The parts of a text that names a package in a Git repository. */
interface GitSpec {
  place: GitPlace;
  commit: string | undefined;
  extras: string | undefined;
  /** Further parts of the fragment. */
  rest: URLSearchParams;
}

/**
 * Reads a package in a Git repository: `git+https://HOST/PATH[@REF][#FRAGMENT]`, `github:OWNER/REPO[#REF]`,
 * `OWNER/REPO[#REF]`, and `NAME[EXTRAS] @ git+https://…`. The fragment is npm's (`REF`, `semver:RANGE`,
 * `REF::path:DIRECTORY`) or pip's (`subdirectory=DIRECTORY`). Throws `invalid` for other protocols than HTTPS, which
 * need keys of the user or start programs.
 */
export function parseGit(text: string): GitSpec {
  const [, before, named] = /^[\w.-]+\s*(?:\[([^\]]*)\]\s*)?@\s*(git\+.*)$/s.exec(text) ?? [];
  const spec = named ?? text;
  const [, start = '', after, end = ''] =
    /^(git\+[a-z]+:\/\/[^/]+\/[^[#]*)\[([^\]]*)\](.*)$/s.exec(spec) ?? [];
  const [address = '', fragment = ''] = (after === undefined ? spec : start + end).split(/#(.*)/s);
  const [whole, at] = splitRef(webAddress(address));
  const url = URL.parse(whole);
  if (url === null)
    throw invalid(`${withoutUser(spec)} is not the URL of a Git repository`, { hint: EXAMPLE });
  requirePublic(url, spec);
  const { ref, subdirectory, rest } = fragmentOf(fragment);
  const refs = [ref, at].filter((one) => one !== undefined && one !== '');
  const place = {
    url: `${url.protocol}//${url.host}${url.pathname.replace(/(?<!\/)\/+$/, '')}`,
    ...withRef(refs.find((one) => !isCommit(one))),
    ...withSubdirectory(subdirectory),
  };
  return { place, commit: refs.find(isCommit), extras: before ?? after, rest };
}

const EXAMPLE = 'use the form git+https://HOST/OWNER/REPO@REF';

/** The notation of ToolHive for a package in a Git repository, and optionally for one of its programs. */
export function formatGit({ place, commit, extras }: Omit<GitSpec, 'rest'>, program?: string): string {
  const parts = { ref: place.ref, subdirectory: place.subdirectory, program };
  return `git+${place.url}${extras ? `[${extras}]` : ''}${commit ? `@${commit}` : ''}${fragmentText(parts)}`;
}

/** The part of a package URL from `#` on. */
export function fragmentText(parts: Readonly<Record<string, string | undefined>>): string {
  const texts = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value).replaceAll('%2F', '/')}`],
  );
  return texts.length === 0 ? '' : `#${texts.join('&')}`;
}

/** The URL of a repository, where the text has a short form. */
function webAddress(address: string): string {
  const [, short = '', path = ''] = /^(\w+):(?!\/\/)(.*)$/s.exec(address) ?? [];
  const host = Object.hasOwn(hosts, short.toLowerCase()) ? hosts[short.toLowerCase()] : undefined;
  if (host !== undefined) return `https://${host}/${path.replace(/^\/+/, '')}`;
  if (/^[\w-][\w.-]*\/[\w.-]+$/.test(address)) return `https://${hosts['github']}/${address}`;
  // The repositories of these hosts are the same over HTTPS, which needs no key of the user.
  const known = Object.values(hosts).map((one) => one.replaceAll('.', String.raw`\.`));
  const overSsh = new RegExp(`^(?:git\\+)?(?:ssh://|git://)?(?:git@)?(${known.join('|')})[:/](.+)$`, 'i');
  const [, sshHost, sshPath] = overSsh.exec(address) ?? [];
  if (sshHost !== undefined) return `https://${sshHost}/${sshPath}`;
  return address.replace(/^git\+/i, '');
}

/** `URL@REF`. A user name before the host also ends with an `@`. */
function splitRef(address: string): [url: string, ref: string | undefined] {
  const [, url, ref] = /^([a-z]+:\/\/[^/]*\/[^@]*)@(.+)$/is.exec(address) ?? [];
  return url === undefined ? [address, undefined] : [url, ref];
}

function requirePublic(url: URL, text: string): void {
  const shown = withoutUser(text);
  const isWeb = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  if (!isWeb) {
    throw invalid(`${shown} uses ${url.protocol.slice(0, -1)}, which ToolHive does not use for Git`, {
      hint: EXAMPLE,
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(`${shown} contains a user name or a password`, {
      hint: 'omit them: ToolHive fetches public repositories only',
    });
  }
  if (url.pathname.length < 2 || url.search !== '' || !/^\/[\w.~+/-]+$/.test(url.pathname)) {
    throw invalid(`${shown} is not the URL of a Git repository`, { hint: EXAMPLE });
  }
}

/** A text without the part of a URL that can be a credential. */
const withoutUser = (text: string): string => JSON.stringify(text.replace(/\/\/[^/]*@/, '//'));

function fragmentOf(fragment: string): {
  ref?: string | undefined;
  subdirectory?: string | undefined;
  rest: URLSearchParams;
} {
  if (/^[\w-]+=/.test(fragment)) {
    const rest = new URLSearchParams(fragment.replaceAll('+', '%2B'));
    const [ref, subdirectory] = ['ref', 'subdirectory'].map((name) => rest.get(name) ?? undefined);
    for (const name of ['ref', 'subdirectory', 'egg']) rest.delete(name);
    return { ref, subdirectory, rest };
  }
  const parts = fragment.split('::').filter((part) => part !== '');
  const path = parts.find((part) => part.startsWith('path:'));
  const ref = parts.find((part) => part !== path);
  return {
    ref: ref === undefined ? undefined : decoded(ref),
    subdirectory: path?.slice('path:'.length),
    rest: new URLSearchParams(),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function withRef(ref: string | undefined): Pick<GitPlace, 'ref'> {
  if (ref === undefined || ref === '' || ref === 'HEAD') return {};
  // The rules of git check-ref-format, so that no name is an option or a pattern for git.
  const isRange = ref.startsWith('semver:');
  const isName = isRange
    ? /^semver:[\w.^~<>=*|+ -]+$/.test(ref)
    : /^[\w.+/@-]+$/.test(ref) && !/^[-/.]|\.\.|@\{|\/\/|[/.]$|\.lock$/.test(ref);
  if (!isName || ref.length > 250) {
    throw invalid(`${JSON.stringify(ref)} is not a branch, a tag, or a commit`, { hint: EXAMPLE });
  }
  return { ref };
}

function withSubdirectory(directory: string | undefined): Pick<GitPlace, 'subdirectory'> {
  const plain = directory?.replace(/^(?:\.?\/)+|\/+$/g, '') ?? '';
  if (plain === '' || plain === '.') return {};
  const parts = plain.split('/');
  const isInside = parts.every((part) => /^[\w.@+ -]+$/.test(part) && part !== '..' && part !== '.git');
  if (!isInside || plain.length > 250) {
    throw invalid(`${JSON.stringify(directory)} is not a directory in a Git repository`);
  }
  return { subdirectory: plain };
}
