import { isObject } from '../jsonrpc/message.ts';
import { modernMeta } from '../connection/handshake.ts';
import type { ServerConnection } from '../connection/connection.ts';
import { newestLegacyVersion } from '../protocol/protocol.ts';

/** A parameter of a tool whose value stands in a header too (MCP 2026-07-28, Streamable HTTP, Custom Headers). */
export interface MirroredParameter {
  /** The header, in lower case. */
  header: string;
  /** The way to the value in the arguments. */
  path: readonly string[];
}

const maxPages = 100;
const none: readonly MirroredParameter[] = [];

type ByTool = ReadonlyMap<string, readonly MirroredParameter[]>;

/** Knows from a server's own list of tools which parameters are mirrored; asks for that list when it has to. */
export class ToolParameters {
  #byTool: ByTool | undefined;
  #loading: Promise<ByTool | undefined> | undefined;

  /** The list has changed. */
  forget(): void {
    this.#byTool = undefined;
    this.#loading = undefined;
  }

  of(
    connection: ServerConnection,
    tool: string,
    proceed: (mirrored: readonly MirroredParameter[]) => void,
  ): void {
    if (this.#byTool !== undefined) return proceed(this.#byTool.get(tool) ?? none);
    void this.#load(connection).then((byTool) => proceed(byTool?.get(tool) ?? none));
  }

  async #load(connection: ServerConnection): Promise<ByTool | undefined> {
    const loading = (this.#loading ??= load(connection));
    const byTool = await loading;
    if (this.#loading !== loading) return byTool;
    // What has changed meanwhile, or could not be had, is asked for again by the next one.
    this.#byTool = byTool;
    this.#loading = undefined;
    return byTool;
  }
}

async function load(connection: ServerConnection): Promise<ByTool | undefined> {
  const tools = await listTools(connection).catch(() => undefined); // the call itself will tell what is wrong
  return tools && new Map(tools.map(({ name, inputSchema }) => [name, mirroredIn(inputSchema)]));
}

interface Tool {
  name: string;
  inputSchema?: unknown;
}

async function listTools(connection: ServerConnection): Promise<Tool[]> {
  if (connection.identity.capabilities['tools'] === undefined) return [];
  const who = { protocolVersion: newestLegacyVersion, capabilities: {} };
  const described = connection.generation === 'modern' ? { _meta: modernMeta(who) } : {};
  const tools: Tool[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page++) {
    const result = await connection.request('tools/list', {
      ...described,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (!isObject(result)) break;
    if (Array.isArray(result['tools'])) tools.push(...result['tools'].filter(isTool));
    cursor = result['nextCursor'];
    if (cursor === undefined || cursor === null) break;
  }
  return tools;
}

function isTool(value: unknown): value is Tool {
  return isObject(value) && typeof value['name'] === 'string';
}

/** The mirrored parameters of a schema: those that are reached through nothing but `properties`. */
function mirroredIn(schema: unknown, path: readonly string[] = []): MirroredParameter[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties) || path.length > maxDepth) return [];
  return Object.entries(properties).flatMap(([name, part]) => {
    const here = [...path, name];
    const header = isObject(part) ? part['x-mcp-header'] : undefined;
    const own =
      typeof header === 'string' && isToken.test(header)
        ? [{ header: `mcp-param-${header.toLowerCase()}`, path: here }]
        : [];
    return [...own, ...mirroredIn(part, here)];
  });
}

const maxDepth = 16;
/** RFC 9110, section 5.6.2. */
const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The value of a parameter as a text; undefined when it is absent or null. */
export function mirroredValue(args: unknown, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((part, step) => (isObject(part) ? part[step] : undefined), args);
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
