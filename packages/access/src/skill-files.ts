import { isObject } from '@toolhive/proxy/message';

/** A skill with the recorded versions of its entry. */
export interface RecordedSkill {
  /** The URI of its `SKILL.md`. */
  uri: string;
  /** Returns the versions as JSON. A version that is undefined was too long to record. */
  contents: () => readonly (string | undefined)[];
}

/** How many skills around one file are compared. A server can put skills into each other without end. */
const maxNested = 10;

/**
 * Returns the URI of a skill that contains a file, but with other content (SEP-2640, Integrity and verification). Digests
 * show only that a file belongs to the version that a user has approved, because the server writes both. `digestsOf`
 * returns one digest for each content of the file, empty for a content that cannot be compared.
 */
export function differingSkill(
  file: string,
  skills: Iterable<RecordedSkill>,
  digestsOf: () => readonly string[],
): string | undefined {
  const around: RecordedSkill[] = [];
  for (const skill of skills) if (contains(skill.uri, file)) around.push(skill);
  // The nearest skill first: a nested one precedes those around it.
  const nearest = around.toSorted((one, other) => other.uri.length - one.uri.length).slice(0, maxNested);
  if (nearest.length === 0) return undefined;
  const digests = digestsOf();
  return nearest.some((skill) => hasFile(skill, file, digests)) ? undefined : nearest[0]?.uri;
}

function contains(skill: string, file: string): boolean {
  const directory = skill.slice(0, skill.lastIndexOf('/') + 1);
  return file === skill || (directory !== '' && file.startsWith(directory));
}

/** Whether one of the versions has the file with all these digests, or states no digests because the server generates the files. */
function hasFile({ contents }: RecordedSkill, file: string, digests: readonly string[]): boolean {
  const known = new Set<string>();
  for (const content of contents()) {
    if (content === undefined) continue;
    const { resources } = JSON.parse(content) as { resources?: unknown };
    if (resources === undefined) return true;
    for (const listed of Array.isArray(resources) ? (resources as unknown[]) : [])
      if (isObject(listed) && listed['uri'] === file) known.add(String(listed['digest']));
  }
  return digests.length > 0 && digests.every((digest) => digest !== '' && known.has(`sha256:${digest}`));
}
