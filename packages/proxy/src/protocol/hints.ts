/** The annotations of a tool that say what a call can do (MCP 2025-11-25, ToolAnnotations). */
export const hintNames = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

export type HintName = (typeof hintNames)[number];
