import type { Provenance } from '@toolhive/contract/provenance';
import type { BuildIdentity } from './signed-bundle.ts';

/** The services whose builds package registries accept: they run the build themselves and report its origin. */
const builders: Record<string, { host: string; runner: string }> = {
  'https://token.actions.githubusercontent.com': { host: 'github.com', runner: 'github-hosted' },
  'https://gitlab.com': { host: 'gitlab.com', runner: 'gitlab-hosted' },
};

/**
 * The facts that a verified identity proves about a build. Throws if no known service ran the build on its own
 * machine.
 */
export function provenBuild(identity: BuildIdentity): Provenance {
  const { issuer, runner } = identity;
  const builder = builderOf(identity);
  if (builder === undefined) throw new Error(`${issuer} is not a known build service`);
  if (runner !== undefined && runner !== builder.runner) {
    throw new Error(`the build ran on a machine of the kind ${runner}, not ${builder.runner}`);
  }
  return provenPublication(identity);
}

const builderOf = ({ issuer }: BuildIdentity) =>
  Object.hasOwn(builders, issuer) ? builders[issuer] : undefined;

/**
 * The facts that a verified identity proves about a publication, which may come from the author's machine or another
 * service.
 */
export function provenPublication(identity: BuildIdentity): Provenance {
  const { issuer, signer, repository, commit, workflow } = identity;
  const builder = builderOf(identity);
  if (builder === undefined)
    return { status: 'absent', reason: `${issuer} certifies no repository`, issuer, signer };
  if (repository === undefined || URL.parse(repository)?.hostname !== builder.host) {
    throw new Error(`its certificate names no repository on ${builder.host}`);
  }
  return {
    status: 'verified',
    repository,
    ...(workflow === undefined ? {} : { workflow: workflow.replace(`${repository}/`, '') }),
    ...(commit === undefined ? {} : { commit }),
    issuer,
    signer,
  };
}

/** Whether two URLs name the same repository. The comparison is exact except for `.git`, a slash, and a path inside. */
export function isSameRepository(one: string, other: string): boolean {
  const [first, second] = [one, other].map(repositoryOf);
  return first !== undefined && first === second;
}

function repositoryOf(text: string): string | undefined {
  const url = URL.parse(text.replace(/^git\+/, ''));
  if (url === null || !/^(?:https?|git|ssh):$/.test(url.protocol)) return undefined;
  const path = url.pathname.replace(/\/-\/.*$/, '').replace(/(?<!\/)\/+$/, '');
  // A path in a repository on GitHub, as entries of monorepos have: /OWNER/NAME/tree/main/src
  const [, inGitHub = path] = url.hostname === 'github.com' ? (/^(\/[^/]+\/[^/]+)/.exec(path) ?? []) : [];
  return `${url.host}${inGitHub.replace(/\.git$/, '')}`;
}
