import { messageOf } from '@toolhive/contract/failure';
import type { InProcessCall, InProcessResult } from '@toolhive/proxy/in-process-server';

/** One call of a tool of the meta server. */
export interface MetaCall extends InProcessCall {
  /** The parameters of `tools/call`, including a client's answers to questions. */
  params: Record<string, unknown>;
  /** Identifies the caller among all callers of the proxy. */
  callerKey: string;
}

/** What a tool of the meta server returns to the model: a value, or the result of another server as it is. */
export type MetaResult = { value: object } | { passed: InProcessResult };

/** A failure that the model should read. */
export class ToolFailure extends Error {}

/** Returns a failure that the model reads, for any error of ToolHive. */
export function toolFailure(error: unknown): ToolFailure {
  return new ToolFailure(messageOf(error), { cause: error });
}
