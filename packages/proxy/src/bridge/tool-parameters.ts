import { raiseFault } from '@toolhive/contract/fault';
import type { ServerConnection } from '../connection/connection.ts';
import { mirroredIn } from '../protocol/mirrored-parameters.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { listTools } from './tool-list.ts';

const none: readonly MirroredParameter[] = [];

type ByTool = ReadonlyMap<string, readonly MirroredParameter[]>;

/** Knows which parameters of a server's tools are mirrored in headers. Reads the server's tool list when necessary. */
export class ToolParameters {
  #byTool: ByTool | undefined;
  #loading: Promise<ByTool | undefined> | undefined;

  /** Discards the list after a change. */
  forget(): void {
    this.#byTool = undefined;
    this.#loading = undefined;
  }

  /** Calls back with the mirrored parameters of a tool by the server's own name, at once if they are known. */
  of(
    connection: ServerConnection,
    tool: string,
    proceed: (mirrored: readonly MirroredParameter[]) => void,
  ): void {
    if (this.#byTool !== undefined) return proceed(this.#byTool.get(tool) ?? none);
    this.#load(connection)
      .then((byTool) => proceed(byTool?.get(tool) ?? none))
      .catch(raiseFault);
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
  return listed && new Map(listed.tools.map(({ name, inputSchema }) => [name, mirroredIn(inputSchema)]));
}
