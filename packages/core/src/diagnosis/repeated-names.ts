import { printable } from '@toolhive/contract/printable';

/** Tells the first names that several tools have: clients call a tool by its name, so they can use only one of them. */
export function repeatedNames(names: readonly string[], most: number): string[] {
  const known = new Set<string>();
  const repeated = new Set<string>();
  for (const name of names) {
    if (known.has(name)) repeated.add(name);
    known.add(name);
  }
  return [...repeated]
    .slice(0, most)
    .map((name) => `the server lists several tools with the name ${printable(name.slice(0, 100))}`);
}
