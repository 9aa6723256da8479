import type { ServerConnection } from '../connection/connection.ts';
import { charsOf, maxListChars } from '../connection/list-size.ts';
import { isObject } from '../jsonrpc/message.ts';
import { modernMeta, newestLegacyVersion } from '../protocol/protocol.ts';

const maxPages = 100;

/** A tool as the server lists it. */
export interface ListedTool {
  name: string;
  inputSchema?: unknown;
  annotations?: unknown;
  execution?: unknown;
}

/** Reads the tool list of a server. `isWhole` is false if the list has too many pages or is too large, and further pages were not read. */
export async function listTools(
  connection: ServerConnection,
  signal?: AbortSignal,
): Promise<{ tools: ListedTool[]; isWhole: boolean }> {
  const tools: ListedTool[] = [];
  if (connection.identity.capabilities['tools'] === undefined) return { tools, isWhole: true };
  const who = { protocolVersion: newestLegacyVersion, capabilities: {} };
  const described = connection.generation === 'modern' ? { _meta: modernMeta(who) } : {};
  let cursor: unknown;
  let chars = 0;
  for (let page = 0; page < maxPages; page++) {
    const params = { ...described, ...(cursor === undefined ? {} : { cursor }) };
    const result = await connection.request('tools/list', params, signal);
    if (!isObject(result)) return { tools, isWhole: false };
    chars += charsOf(result);
    if (chars > maxListChars) return { tools, isWhole: false };
    tools.push(...toolsIn(result));
    const next = result['nextCursor'];
    if (next === undefined || next === null || next === cursor) return { tools, isWhole: true };
    cursor = next;
  }
  return { tools, isWhole: false };
}

/** The tools in one answer. */
export function toolsIn(result: unknown): ListedTool[] {
  const tools = isObject(result) ? result['tools'] : undefined;
  return Array.isArray(tools) ? tools.filter(isTool) : [];
}

function isTool(value: unknown): value is ListedTool {
  return isObject(value) && typeof value['name'] === 'string';
}
