import { statSync } from 'node:fs';
import type { Stats } from 'node:fs';

/** What a path leads to. Undefined if that cannot be found out, as with texts that only look like paths. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // too long, not readable, or with a NUL character
  }
}
