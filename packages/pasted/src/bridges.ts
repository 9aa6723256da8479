import * as z from 'zod';
import { behindInstaller } from './installers.ts';
import { programOf } from './wrappers.ts';
import { wordsIn } from './words.ts';

/** A remote server as a bridge for clients without HTTP names it. */
export interface BridgedServer {
  url: string;
  headers: Record<string, string>;
  /** The transport, if the command allows one only. */
  type?: 'sse' | 'http';
  oauth?: { clientId?: string; scopes?: string[] };
  /** The tools that the bridge hides, as its author writes them. */
  withoutTools?: readonly string[];
  note: string;
}

/** The words before the package, which only say how npm and others start it. */
const before =
  /^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun|uvx|uv|tool|pipx|run|x|dlx|exec|cmd|\/[cs]|-y|--yes|-q|--quiet|--silent|--)$/i;
const switches = new Set(['--allow-http', '--debug', '--silent', '--enable-proxy']);
/** Flags whose values do not matter, because ToolHive signs in itself. */
const ignored = new Set(['--host', '--auth-timeout', '--resource', '--authorize-resource']);

/** The target of a bridge: a remote server, or the command of a server that the bridge starts. */
export type Behind = BridgedServer | { words: readonly string[]; note: string };

/**
 * The target of a bridge, so that ToolHive connects to it or runs it: one sign-in for all clients, without third-party code.
 * Undefined for other commands, and for flags that only the bridge understands. `env` contains the bridge's variables.
 */
export function behindBridge(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Behind | undefined {
  const installed = behindInstaller(words);
  if (installed !== undefined) return installed;
  const served = servedUrl(words);
  if (served !== undefined) return { url: served, headers: {}, note: remoteNote('FastMCP') };
  return behindPackage(withoutPackageFlag(words), env);
}

/** `npx -p mcp-remote mcp-remote URL`, `uvx --from git+https://…/mcp-proxy mcp-proxy URL`: the program is that of the package. */
function withoutPackageFlag(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => /^(?:-p|--package|--from)(?:=|$)/.test(word));
  const length = words[at]?.includes('=') === true ? 1 : 2;
  const [, named = ''] = /^[^=]*=(.*)$/.exec(words[at] ?? '') ?? [undefined, words[at + 1]];
  const [, bridge] =
    /(?:^|\/)(mcp-remote|mcp-proxy|mcpo|supergateway)(?:\.git)?(?:(?:@|==)[\w.^~-]+)?$/.exec(named) ?? [];
  const program = words[at + length];
  if (at < 1 || bridge === undefined || (program !== bridge && program !== `${bridge}-client`)) return words;
  return [...words.slice(0, at), bridge, ...words.slice(at + length + 1)];
}

function behindPackage(words: readonly string[], env: Readonly<Record<string, string>>): Behind | undefined {
  const isInstalled = programOf(words) === 'mcp-proxy'; // maybe with its path
  const at = isInstalled
    ? 0
    : words.findIndex((word) => /^(?:mcp-remote|mcp-proxy|mcpo|supergateway)(?:@[\w.^~-]+)?$/.test(word));
  const starting = at < 1 ? [] : [programOf(words), ...words.slice(1, at)];
  if (at === -1 || !starting.every((word) => before.test(word))) return undefined;
  const rest = words.slice(at + 1);
  const [name = ''] = (words[at] ?? '').split('@');
  if (isInstalled || name === 'mcp-proxy') return behindProxy(rest, env);
  if (name === 'mcpo') return behindDashes(rest);
  if (at === 0) return undefined; // installed on this machine
  return name === 'mcp-remote' ? behindRemote(rest) : behindGateway(rest);
}

/** `fastmcp run URL` is a proxy for a remote server. */
function servedUrl(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => /^(?:.*[\\/])?fastmcp(?:@[\w.]+)?$/.test(word));
  const isProxy =
    at !== -1 && words[at + 1] === 'run' && words.slice(0, at).every((word) => before.test(word));
  return isProxy ? words.slice(at + 2).find(isUrl) : undefined;
}

const remoteNote = (bridge: string): string =>
  `ToolHive connects to the server itself, so ${bridge} is not needed`;
const localNote = (bridge: string): string => `ToolHive serves HTTP itself, so ${bridge} is not needed`;

const isUrl = (word: string): boolean => /^https?:\/\//i.test(word);

/** Flags of `mcp-proxy` about its own side, whose values do not matter. */
const ownSide =
  /^--(?:(?:sse-)?(?:port|host)|server|log-level|allow-origin|endpoint|sseEndpoint|streamEndpoint)$/;

/**
 * `mcp-proxy URL` and `mcp-proxy COMMAND`, the program from PyPI and the one from npm. Flags can stand before and after a
 * URL.
 */
function behindProxy(
  rest: readonly string[],
  { API_ACCESS_TOKEN: token }: Readonly<Record<string, string>>,
): Behind | undefined {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const note = localNote('mcp-proxy');
  const assignments: string[] = [];
  let type: BridgedServer['type'];
  let url: string | undefined;
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    const [, flag = word, attached] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (!word.startsWith('-')) {
      if (url !== undefined) return undefined;
      if (!isUrl(word)) return { words: [...assignments, ...rest.slice(index)], note };
      url = word;
    } else if (word === '--') return { words: [...assignments, ...rest.slice(index + 1)], note };
    else if (/^(?:-e|--env)$/.test(flag)) {
      const [name = '', value] = rest.slice(index + 1);
      if (value === undefined || !/^[A-Za-z_]\w*$/.test(name)) return undefined;
      assignments.push(`${name}=${value}`);
      index += 2;
    } else if (flag === '-H' || flag === '--headers') {
      headers[rest[index + 1] ?? ''] = rest[index + 2] ?? '';
      index += 2;
    } else if (flag === '--transport' || ownSide.test(flag)) {
      const value = attached ?? rest[(index += 1)];
      if (flag === '--transport') type = value === 'sse' ? 'sse' : 'http';
    } else if (!/^--(?:(?:no-)?pass-environment|debug|stateless|shell)$/.test(flag)) return undefined;
  }
  if (url === undefined) return undefined;
  return { url, headers, ...(type === undefined ? {} : { type }), note: remoteNote('mcp-proxy') };
}

/** `mcpo [FLAGS] -- COMMAND` serves an API for programs without MCP. */
function behindDashes(rest: readonly string[]): Behind | undefined {
  const at = rest.indexOf('--');
  const note = 'ToolHive serves MCP. The API of mcpo is not started';
  return at === -1 ? undefined : { words: rest.slice(at + 1), note };
}

/** `supergateway --sse URL`, `--streamableHttp URL`, or `--stdio COMMAND`. */
function behindGateway(rest: readonly string[]): Behind | undefined {
  const headers: Record<string, string> = {};
  let found: Behind | undefined;
  const words = rest.flatMap(divided).filter((word) => word !== '--stateful');
  for (let index = 0; index < words.length; index += 2) {
    const [flag = '', value] = words.slice(index);
    // This flag can have a value.
    if (flag === '--cors' && (value === undefined || value.startsWith('--'))) {
      index -= 1;
      continue;
    }
    if (value === undefined) return undefined;
    const [name, content] = headerIn(value);
    const started = flag === '--stdio' ? wordsIn(value) : undefined;
    if (started !== undefined) found = { words: started, note: localNote('supergateway') };
    else if (flag === '--sse') found = { url: value, headers, type: 'sse', note: remoteNote('supergateway') };
    else if (flag === '--streamableHttp')
      found = { url: value, headers, type: 'http', note: remoteNote('supergateway') };
    else if (flag === '--header' && name !== undefined && content !== undefined) headers[name] = content;
    else if (flag === '--oauth2Bearer') headers['Authorization'] = `Bearer ${value}`;
    else if (
      !/^--(?:port|baseUrl|ssePath|messagePath|streamableHttpPath|outputTransport|logLevel|healthEndpoint|sessionTimeout|protocolVersion|cors)$/.test(
        flag,
      )
    )
      return undefined;
  }
  return found;
}

/** `--flag=value` as two words. */
function divided(word: string): string[] {
  const [, flag, value] = /^(--[A-Za-z][\w-]*)=(.*)$/s.exec(word) ?? [];
  return flag === undefined || value === undefined ? [word] : [flag, value];
}

/** A header, which some authors quote once more than their shell or their client needs. */
function headerIn(text: string): [name: string | undefined, content: string | undefined] {
  const bare = text.trim().replace(/^(["'])(.*)\1$/s, '$2');
  const [, name, content] = /^\s*([^:\s]+)\s*:\s*(.*)$/s.exec(bare) ?? [];
  return [name, content];
}

/** `mcp-remote URL [PORT] [FLAGS]`. */
function behindRemote(given: readonly string[]): BridgedServer | undefined {
  const rest = given.flatMap(divided);
  const headers: Record<string, string> = {};
  let type: BridgedServer['type'];
  const oauth: NonNullable<BridgedServer['oauth']> = {};
  const others: string[] = [];
  const withoutTools: string[] = [];
  let hasFile = false;
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    if (switches.has(word)) continue;
    if (!word.startsWith('-')) {
      others.push(word);
      continue;
    }
    const value = rest[(index += 1)];
    if (value === undefined) return undefined;
    const [name, content] = headerIn(value);
    if (word === '--header' && name !== undefined && content !== undefined) headers[name] = content;
    else if (word === '--transport') type = typeOf(value);
    else if (word === '--ignore-tool') withoutTools.push(value);
    else if (/^--static-oauth-client-(?:info|metadata)$/.test(word)) {
      const read = clientIn(value);
      if (read === undefined && !value.startsWith('@')) return undefined;
      if (read === undefined) hasFile = true;
      else Object.assign(oauth, read);
    } else if (!ignored.has(word)) return undefined;
  }
  const [url, port, ...more] = others;
  if (url === undefined || more.length > 0 || (port !== undefined && !/^\d+$/.test(port))) return undefined;
  return {
    url,
    headers,
    ...(type === undefined ? {} : { type }),
    ...(Object.keys(oauth).length === 0 ? {} : { oauth }),
    ...(withoutTools.length === 0 ? {} : { withoutTools }),
    note: hasFile
      ? `${remoteNote('mcp-remote')}. The OAuth client in a file is not imported. Add --remote-auth-client-id`
      : remoteNote('mcp-remote'),
  };
}

const Client = z.strictObject({ client_id: z.string().optional(), scope: z.string().optional() });

/** The client in a JSON text. Undefined for a file, and for a client with more, such as a secret. */
function clientIn(text: string): BridgedServer['oauth'] | undefined {
  try {
    const { client_id: clientId, scope } = Client.parse(JSON.parse(text));
    return {
      ...(clientId === undefined ? {} : { clientId }),
      ...(scope === undefined ? {} : { scopes: scope.split(/\s+/) }),
    };
  } catch {
    return undefined;
  }
}

function typeOf(transport: string): BridgedServer['type'] {
  return transport === 'sse-only' ? 'sse' : transport === 'http-only' ? 'http' : undefined;
}
