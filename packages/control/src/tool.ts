import type { Client } from '@toolhive/contract/client';
import type * as z from 'zod';

/** What clients may go by when they ask a person before a call (MCP 2026-07-28, Tools, Annotations). */
interface Annotations {
  /** It changes nothing. */
  readOnlyHint: boolean;
  /** Whether the tool may destroy something. */
  destructiveHint?: boolean;
  /** Whether repeating the call with the same arguments has no further effect. */
  idempotentHint?: boolean;
  /** Whether the tool uses resources outside this machine. */
  openWorldHint: boolean;
}

/** What a tool is called with, beside its arguments. */
export interface ToolCall {
  daemon: Client;
  signal: AbortSignal;
  /** Reports progress. */
  report: (message: string) => void;
}

/** A tool, declared once. The same schemas provide its description and its validation. */
export interface Tool<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  /** Absent where the result is a text. */
  output?: Output;
  annotations: Annotations;
  run: (input: z.output<Input>, call: ToolCall) => Promise<z.input<Output> | string>;
}

/** A tool of any type. Only its schemas know the arguments. */
export type AnyTool = Omit<Tool<z.ZodObject, z.ZodObject>, 'run'> & {
  run: (input: Record<string, unknown>, call: ToolCall) => Promise<Record<string, unknown> | string>;
};

/** Checks a declaration against its own schemas. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Tool<Input, Output>,
): AnyTool {
  const { run, ...described } = declaration;
  // The caller has parsed the arguments with the tool's schema.
  return { ...described, run: (input, call) => run(input as z.output<Input>, call) };
}
