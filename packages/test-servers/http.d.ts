import type { World } from './servers.js';

/** Listens on MCP_PORT until the process ends. */
export function serveHttp(manners: string, world: World): Promise<void>;
