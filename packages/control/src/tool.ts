import type { Client } from '@toolhive/contract/client';
import type * as z from 'zod';

/** What clients may go by when they ask a person before a call (MCP 2026-07-28, Tools, Annotations). */
interface Annotations {
  /** It changes nothing. */
  readOnlyHint: boolean;
  /** It may undo something. */
  destructiveHint?: boolean;
  /** Called again with the same arguments, it changes nothing more. */
  idempotentHint?: boolean;
  /** It has to do with more than this machine. */
  openWorldHint: boolean;
}

/** What a tool is called with, beside its arguments. */
export interface ToolCall {
  daemon: Client;
  signal: AbortSignal;
  /** Tells what is going on meanwhile. */
  report: (message: string) => void;
}

/** A tool, declared once: what is told of it and what it checks come from the same schemas. */
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

/** Some tool, of which only its schemas know what it takes. */
export type AnyTool = Omit<Tool<z.ZodObject, z.ZodObject>, 'run'> & {
  run: (input: Record<string, unknown>, call: ToolCall) => Promise<Record<string, unknown> | string>;
};

/** Checks a declaration against its own schemas. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  declaration: Tool<Input, Output>,
): AnyTool {
  const { run, ...described } = declaration;
  // Whoever calls it has parsed the arguments with the schema that stands beside it.
  return { ...described, run: (input, call) => run(input as z.output<Input>, call) };
}
