/** How many characters all pages of one list may have together: as much as the largest answers of two pages. */
export const maxListChars: number = 32 * 1024 * 1024;

/** What a member or an element takes in memory besides its characters. */
const partChars = 16;

/**
 * Returns how large a value of a JSON text is, in characters. Lists are limited by their size, because a server can
 * put as much into one item as into a message.
 */
export function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length + partChars;
  if (typeof value !== 'object' || value === null) return partChars;
  let chars = partChars;
  // Messages nest at most 500 levels deep.
  for (const [name, part] of Object.entries(value)) chars += name.length + charsOf(part);
  return chars;
}
