import { isObject } from '@toolhive/proxy/message';

/** The known digests by the URI of the file. */
type Files = Map<string, Set<string>>;

interface Skill {
  uri: string;
  /** The URI of its directory, with a slash at the end. */
  directory: string;
  /** Digests by the URI of the file. Undefined if a version of the skill states none, so any content is the skill's. */
  files: Files | undefined;
}

/** How much of the files is kept. A skill with more is treated as one with unknown files. */
const maxFiles = 10_000;

/**
 * The digests of the files of skills (SEP-2640, Integrity and verification), from versions of the entries of the skills. They show
 * only that a file belongs to the version that a user has approved, because the server writes both.
 */
export class SkillFiles {
  readonly #skills: Skill[] = [];

  /** The contents are the canonical JSON of the versions. An undefined content is too long to be known. */
  constructor(skills: Iterable<{ uri: string; contents: readonly (string | undefined)[] }>) {
    for (const { uri, contents } of skills) {
      const directory = uri.replace(/[^/]*$/, '');
      this.#skills.push({ uri, directory, files: filesIn(contents) });
    }
  }

  /** Returns the URI of a skill that contains the file, but with other content. `digestsOf` returns one for each content of the file. */
  differs(uri: string, digestsOf: () => readonly string[]): string | undefined {
    const containing = this.#skills.filter(
      ({ uri: own, directory }) => uri === own || (directory !== '' && uri.startsWith(directory)),
    );
    if (containing.length === 0) return undefined;
    const digests = digestsOf();
    const isSame = ({ files }: Skill): boolean => {
      if (files === undefined) return true;
      const known = files.get(uri);
      return known !== undefined && digests.length > 0 && digests.every((digest) => known.has(digest));
    };
    return containing.some(isSame) ? undefined : containing[0]?.uri;
  }
}

function filesIn(contents: readonly (string | undefined)[]): Files | undefined {
  const files: Files = new Map();
  for (const content of contents) {
    if (content === undefined) continue;
    const { resources } = JSON.parse(content) as { resources?: unknown };
    if (resources === undefined) return undefined; // generated, so it has no digests
    for (const file of Array.isArray(resources) ? (resources as unknown[]) : []) {
      if (!isObject(file) || typeof file['uri'] !== 'string' || typeof file['digest'] !== 'string') continue;
      const [, digest] = /^sha256:([0-9a-f]{64})$/.exec(file['digest']) ?? [];
      if (digest === undefined || files.size >= maxFiles) continue;
      files.set(file['uri'], (files.get(file['uri']) ?? new Set()).add(digest));
    }
  }
  return files;
}
