import { versionOf } from '@toolhive/access/difference';
import { readableThing } from '@toolhive/proxy/readable';

/**
 * Returns a recorded content in the form in which clients get it. Earlier versions of ToolHive recorded the form of the server,
 * which clients may refuse. Undefined if clients cannot read any form.
 */
export function readableContent(kind: string, recorded: string): unknown {
  return readableThing(kind, JSON.parse(recorded));
}

/** Whether a recorded content is the same thing as the content with this hash. */
export function isSameThing(kind: string, recorded: string | undefined, hash: string): boolean {
  if (recorded === undefined) return false;
  const readable = readableContent(kind, recorded);
  return readable !== undefined && versionOf(readable).hash === hash;
}
