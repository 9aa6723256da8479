import { defaultHints } from './hints.ts';

export type Annotations = Readonly<Record<string, unknown>>;

/**
 * Returns the hints that all approved versions of a tool agree on (MCP 2025-11-25, ToolAnnotations). Clients may see any
 * of the versions, so a hint on which two versions differ has its default value, the dangerous one. So does every hint if
 * a content is too long to be kept.
 */
export function annotationsIn(contents: readonly (string | undefined)[]): Annotations {
  const said = contents.map((content) => (content === undefined ? {} : annotationsOf(content)));
  return Object.fromEntries(
    Object.entries(defaultHints).map(([name, value]) => {
      const values = new Set(said.map((annotations) => annotations[name] ?? value));
      const [only] = values;
      return [name, values.size === 1 && typeof only === 'boolean' ? only : value];
    }),
  );
}

function annotationsOf(content: string): Annotations {
  const { annotations } = JSON.parse(content) as { annotations?: unknown }; // written by `versionOf`
  return typeof annotations === 'object' && annotations !== null ? (annotations as Annotations) : {};
}
