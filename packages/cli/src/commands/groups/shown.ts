/** A group that the product uses for itself. */
const internalGroup = '__mcp-optimizer__';

/** Whether a group concerns people. */
export function isShown({ name }: { name: string }): boolean {
  return name !== internalGroup;
}
