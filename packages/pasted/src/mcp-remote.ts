import { win32 } from 'node:path';

/** A remote server as a bridge for clients without HTTP names it. */
export interface BridgedServer {
  url: string;
  headers: Record<string, string>;
  /** The transport, if the command allows one only. */
  type?: 'sse' | 'http';
  note: string;
}

/** The words before the package, which only say how npm and others start it. */
const before = /^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun|x|dlx|exec|cmd|\/[cs]|-y|--yes|-q|--quiet|--silent|--)$/i;
const switches = new Set(['--allow-http', '--debug', '--silent', '--enable-proxy']);
/** Flags whose values do not matter, because ToolHive signs in itself. */
const ignored = new Set(['--host', '--auth-timeout', '--resource']);

/**
 * The remote server in a command line of `mcp-remote`, so that ToolHive connects and signs in itself: one sign-in for all
 * clients, without third-party code. Undefined for other commands, and for flags that only this package understands.
 */
export function readMcpRemote(words: readonly string[]): BridgedServer | undefined {
  const at = words.findIndex((word) => /^mcp-remote(?:@[\w.^~-]+)?$/.test(word));
  const program = win32.basename(words[0] ?? '').replace(/\.(?:cmd|exe)$/i, '');
  if (at < 1 || ![program, ...words.slice(1, at)].every((word) => before.test(word))) return undefined;
  const headers: Record<string, string> = {};
  let type: BridgedServer['type'];
  const others: string[] = [];
  const rest = words.slice(at + 1);
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    if (switches.has(word)) continue;
    if (!word.startsWith('-')) {
      others.push(word);
      continue;
    }
    const value = rest[(index += 1)];
    if (value === undefined) return undefined;
    const [, name, content] = /^\s*([^:\s]+)\s*:\s*(.*)$/s.exec(value) ?? [];
    if (word === '--header' && name !== undefined && content !== undefined) headers[name] = content;
    else if (word === '--transport') type = typeOf(value);
    else if (!ignored.has(word)) return undefined;
  }
  const [url, port, ...more] = others;
  if (url === undefined || more.length > 0 || (port !== undefined && !/^\d+$/.test(port))) return undefined;
  const note = 'ToolHive connects to the server itself, so mcp-remote is not needed';
  return { url, headers, ...(type === undefined ? {} : { type }), note };
}

function typeOf(transport: string): BridgedServer['type'] {
  return transport === 'sse-only' ? 'sse' : transport === 'http-only' ? 'http' : undefined;
}
