import { lstat, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ThvError, notFound, unsupported } from '@toolhive/contract/failure';
import { isCommit } from '@toolhive/contract/git-source';
import { requireLocal } from '../../local-package.ts';
import { type RepositorySource, formatSource, isRepository } from '../../source.ts';
import type { PackageSource } from '../../source.ts';
import { installWith } from '../../programs.ts';
import { inside } from '../plan.ts';
import type { Installer } from './installers.ts';
import { localInstallers } from './local.ts';
import { originsIn } from './registries.ts';
import { registryFailure } from './registry-failure.ts';
import { type InstallContext, type ToolResult, distrustIn, requireProgram, runTool } from './tool.ts';

/**
 * Packages in Git repositories that the user has named. Git fetches one commit in a sandbox that reaches only the
 * repository's host. From there on, the files are installed like a directory of this machine, so dependencies come
 * from package registries alone.
 */
export const gitInstaller: Installer = {
  keepsDownloads: false,

  isPinned: ({ version }) => isCommit(version),

  resolve: (source, context) => commitOf(repositoryOf(source), context),

  async newest(source, context) {
    return { version: await commitOf(repositoryOf(source), context) };
  },

  preview: async () => undefined,

  async install(source, context) {
    const repository = repositoryOf(source);
    const copy = await fetchCommit(repository, context);
    try {
      return await localInstallers[source.scheme](source, context, copy);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  },
};

function repositoryOf(source: PackageSource): RepositorySource {
  if (isRepository(source)) return source;
  throw unsupported(`${formatSource(source)} is not in a Git repository`);
}

/** The commit that the reference of a repository means now. */
async function commitOf(source: RepositorySource, context: InstallContext): Promise<string> {
  const { url, ref } = source.git;
  const patterns = ref === undefined ? ['HEAD'] : patternsOf(ref);
  const result = await git(['ls-remote', '--', url, ...patterns], source, context);
  if (result.code !== 0) throw gitFailure(source, result);
  const refs = new Map(
    [...result.stdout.matchAll(/^([0-9a-f]{40,64})\t(\S+)$/gm)].map(([, commit = '', name = '']) => [
      name,
      commit,
    ]),
  );
  const commit =
    ref?.startsWith(RANGE) === true ? await newestTag(ref.slice(RANGE.length), refs) : chosen(ref, refs);
  if (commit !== undefined && isCommit(commit)) return commit;
  if (ref !== undefined && /^[0-9a-f]{7,39}$/.test(ref)) return completeCommit(source, ref, context);
  throw notFound(
    ref === undefined ? `the repository ${url} is empty` : `${url} has no branch, tag, or commit ${ref}`,
    ref === undefined ? {} : { hint: 'check the name after @ or #, or omit it for the default branch' },
  );
}

const RANGE = 'semver:';

const patternsOf = (ref: string): string[] => {
  if (ref.startsWith(RANGE)) return ['refs/tags/*'];
  if (ref.startsWith('refs/')) return [ref, `${ref}^{}`];
  return [`refs/heads/${ref}`, `refs/tags/${ref}`, `refs/tags/${ref}^{}`];
};

/** A branch before a tag of the same name, like uv. The entry of an annotated tag with `^{}` is its commit. */
function chosen(ref: string | undefined, refs: ReadonlyMap<string, string>): string | undefined {
  if (ref === undefined) return refs.get('HEAD');
  const names = ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
  return names.map((name) => refs.get(`${name}^{}`) ?? refs.get(name)).find((commit) => commit !== undefined);
}

async function newestTag(range: string, refs: ReadonlyMap<string, string>): Promise<string | undefined> {
  const { default: semver } = await import('semver');
  const tags = new Map(
    [...refs.keys()].flatMap((name) => {
      const tag = name.replace(/^refs\/tags\//, '').replace(/\^\{\}$/, '');
      return semver.valid(tag) === null ? [] : [[tag, chosen(`refs/tags/${tag}`, refs)] as const];
    }),
  );
  const newest = semver.maxSatisfying([...tags.keys()], range);
  return newest === null ? undefined : tags.get(newest);
}

/** No server completes an abbreviated commit, so that takes the list of all commits. */
async function completeCommit(
  source: RepositorySource,
  abbreviated: string,
  context: InstallContext,
): Promise<string> {
  const { url } = source.git;
  const all = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
  await init(source, context);
  const fetched = await git(['-C', CHECKOUT, 'fetch', '--filter=tree:0', '--', url, ...all], source, context);
  if (fetched.code !== 0) throw gitFailure(source, fetched);
  const args = ['-C', CHECKOUT, 'rev-parse', '--verify', '--end-of-options', `${abbreviated}^{commit}`];
  const { stdout } = await git(args, source, context, { isOffline: true });
  await rm(join(context.folder, 'checkout'), { recursive: true, force: true });
  const commit = stdout.trim();
  if (isCommit(commit)) return commit;
  throw notFound(`${url} has no branch, tag, or commit ${abbreviated}`, {
    hint: 'check the name after @ or #, or omit it for the default branch',
  });
}

const CHECKOUT = `${inside.package}/checkout`;

async function init(source: RepositorySource, context: InstallContext): Promise<void> {
  const made = await git(['init', '--quiet', '--template=', CHECKOUT], source, context, { isOffline: true });
  if (made.code !== 0) throw gitFailure(source, made);
}

/**
 * Checks out the commit of a source, without its history and submodules. Returns the directory of the checkout, which
 * is outside the package's folder.
 */
async function fetchCommit(source: RepositorySource, context: InstallContext): Promise<string> {
  const { git: place, version = '' } = source;
  context.report(`fetching commit ${version.slice(0, 12)} of ${place.url}`);
  await init(source, context);
  const fetch = ['-C', CHECKOUT, 'fetch', '--quiet', '--no-tags', '--no-recurse-submodules'];
  const fetched = await git([...fetch, '--depth=1', '--', place.url, version], source, context);
  if (fetched.code !== 0) {
    // Some servers send only the commits that references name.
    const every = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'];
    const all = await git([...fetch, '--', place.url, ...every], source, context);
    if (all.code !== 0) throw gitFailure(source, all);
  }
  const checkout = ['-C', CHECKOUT, 'checkout', '--quiet', '--detach', version];
  const result = await git(checkout, source, context, { isOffline: true });
  if (result.code !== 0) throw gitFailure(source, result);
  return moveOut(source, context);
}

/** Moves a checkout out of the package's folder, which an installer expects to be empty. */
async function moveOut(
  { scheme, git: place }: RepositorySource,
  { folder }: InstallContext,
): Promise<string> {
  const checkout = join(folder, 'checkout');
  // Python build tools read versions from it, and their sandbox is the only place where it exists.
  if (scheme !== 'uvx') await rm(join(checkout, '.git'), { recursive: true, force: true });
  const copy = `${folder}.checkout`;
  await rename(checkout, copy);
  const { subdirectory = '' } = place;
  const directory = join(await realpath(copy), subdirectory);
  const real = await realpath(directory).catch(() => undefined);
  if (real !== directory || !(await lstat(directory)).isDirectory()) {
    throw notFound(`${place.url} has no directory ${subdirectory}`, {
      hint: 'check the subdirectory after #',
    });
  }
  await requireLocal({ scheme, name: `${place.url}/${subdirectory}`.replace(/\/$/, '') }, { directory });
  return copy;
}

/** Runs git without any settings, hooks, credentials, or protocols besides that of the URL. */
async function git(
  args: readonly string[],
  { git: { url } }: RepositorySource,
  context: InstallContext,
  { isOffline = false }: { isOffline?: boolean } = {},
): Promise<ToolResult> {
  const program = await requireProgram('git', context, installWith('git'));
  const protocol = url.startsWith('https:') ? 'https' : 'http';
  const settings = {
    'core.hooksPath': '/dev/null',
    'core.fsmonitor': 'false',
    'credential.helper': '',
    'protocol.allow': 'never',
    [`protocol.${protocol}.allow`]: 'always',
    'submodule.recurse': 'false',
    'gc.auto': '0',
    'maintenance.auto': 'false',
    'safe.directory': '*',
    'http.sslCAInfo': context.certificates === undefined ? undefined : inside.certificates,
  };
  const options = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : ['-c', `${name}=${value}`],
  );
  return runTool(
    {
      name: 'git',
      command: [await realpath(program), ...options, ...args],
      env: {
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_ALLOW_PROTOCOL: protocol,
        GIT_TERMINAL_PROMPT: '0',
        GIT_ASKPASS: '/bin/false',
        GIT_NO_LAZY_FETCH: '1',
        GIT_LFS_SKIP_SMUDGE: '1',
      },
      ...(isOffline ? {} : { registries: originsIn([url]), registriesOnly: true }),
    },
    context,
  );
}

/** Summarizes the error of git in one line. */
function gitFailure(
  { scheme, git: { url }, version = '' }: RepositorySource,
  { stderr }: ToolResult,
): ThvError {
  const distrust = distrustIn(stderr);
  if (distrust !== undefined) return distrust;
  const lines = stderr.split('\n').flatMap((line) => /^(?:fatal|error): (.+)/.exec(line)?.[1]?.trim() ?? []);
  const [reason = 'git gave no reason'] = lines;
  if (
    /could not read Username|Authentication failed|terminal prompts disabled|not found$|error: 40[134]/m.test(
      stderr,
    )
  ) {
    return notFound(`the repository ${url} does not exist, or is private`, {
      hint: `check the URL. ToolHive fetches public repositories only. For a private one, clone it and run the directory${scheme === 'npx' ? scopedPackage(url) : ''}`,
    });
  }
  if (/not our ref|not a tree|bad object|did not send all necessary objects/.test(stderr)) {
    return notFound(`${url} has no commit ${version}`, { hint: 'use a commit of a branch or a tag' });
  }
  return registryFailure(
    { place: url, reason: reason.slice(0, LONGEST_REASON), said: stderr },
    { check: 'check the network and the proxy settings', timeouts: 'the limits of your proxy' },
  );
}

/** npm reads `OWNER/NAME` as a repository, but scoped packages are often typed without their `@`. */
function scopedPackage(url: string): string {
  const [, owner, name] = /^\/([\w.-]+)\/([\w.-]+)$/.exec(new URL(url).pathname) ?? [];
  return owner === undefined ? '' : `. For a package in the npm registry, use npx://@${owner}/${name}`;
}

const LONGEST_REASON = 300;
