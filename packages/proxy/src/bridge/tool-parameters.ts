import { raiseFault } from '@toolhive/contract/fault';
import type { ServerConnection } from '../connection/connection.ts';
import { isObject } from '../jsonrpc/message.ts';
import { mirroredIn } from '../protocol/mirrored-parameters.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { listTools } from './tool-list.ts';
import type { ListedTool } from './tool-list.ts';

/** The rules of a server for calls of a tool. */
export interface ToolCallRules {
  /** The parameters that are mirrored in headers. */
  mirrored: readonly MirroredParameter[];
  /** Whether calls can or must be tasks (MCP 2025-11-25, Tasks, Tool-Level Negotiation). */
  taskSupport: 'forbidden' | 'optional' | 'required';
}

const none: ToolCallRules = { mirrored: [], taskSupport: 'forbidden' };

type ByTool = ReadonlyMap<string, ToolCallRules>;

/** Knows how a server's tools are called. Reads the server's tool list when necessary. */
export class ToolParameters {
  #byTool: ByTool | undefined;
  #loading: Promise<ByTool | undefined> | undefined;

  /** Discards the list after a change. */
  forget(): void {
    this.#byTool = undefined;
    this.#loading = undefined;
  }

  /** Calls back with the rules for a tool by the server's own name, at once if they are known. */
  of(connection: ServerConnection, tool: string, proceed: (rules: ToolCallRules) => void): void {
    if (this.#byTool !== undefined) return proceed(this.#byTool.get(tool) ?? none);
    this.#load(connection)
      .then((byTool) => proceed(byTool?.get(tool) ?? none))
      .catch(raiseFault);
  }

  /** Returns the mirrored parameters of a tool. Without a server, the call itself reports that. */
  mirrored(connection: ServerConnection | undefined, tool: string): Promise<readonly MirroredParameter[]> {
    if (connection === undefined) return Promise.resolve([]);
    return new Promise((resolve) => this.of(connection, tool, ({ mirrored }) => resolve(mirrored)));
  }

  async #load(connection: ServerConnection): Promise<ByTool | undefined> {
    const loading = (this.#loading ??= load(connection));
    const byTool = await loading;
    if (this.#loading !== loading) return byTool;
    // If the list has changed in the meantime or could not be read, the next call reads it again.
    this.#byTool = byTool;
    this.#loading = undefined;
    return byTool;
  }
}

async function load(connection: ServerConnection): Promise<ByTool | undefined> {
  const listed = await listTools(connection).catch(() => undefined); // the call itself reports the problem
  return listed && new Map(listed.tools.map((tool) => [tool.name, rulesOf(tool)]));
}

function rulesOf({ inputSchema, execution }: ListedTool): ToolCallRules {
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  const taskSupport = support === 'optional' || support === 'required' ? support : 'forbidden';
  return { mirrored: mirroredIn(inputSchema), taskSupport };
}
