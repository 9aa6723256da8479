import type { HintName } from '@toolhive/proxy/hints';

/** The annotations of a tool that the server says nothing about (MCP 2025-11-25, ToolAnnotations). */
export const defaultHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const satisfies Record<HintName, boolean>;
