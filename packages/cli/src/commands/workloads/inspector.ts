import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { conflict, timedOut, unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { waitUntil, withinLimit } from '../../wait.ts';
import { runningWorkload } from '../endpoint.ts';
import { portFrom } from '../port.ts';
import { answersAt, isFree } from './loopback.ts';
import { installedInspector } from './inspector-install.ts';
import { startInspector } from './inspector-program.ts';

/** How long the installation and the first answer may take. */
const startMs = 5 * 60_000;

/** Opens the MCP Inspector for a workload, until the user ends it. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const ports = { page: portFrom(flags, 'ui-port'), second: portFrom(flags, 'mcp-proxy-port') };
  const { proxy_url: url, proxy_mode: mode } = await runningWorkload(name, { client, signal });
  for (const [flag, port] of [
    ['ui-port', ports.page],
    ['mcp-proxy-port', ports.second],
  ] as const) {
    if (!(await isFree(port)))
      throw conflict(`port ${port} is in use`, { hint: `choose another port with --${flag}` });
  }

  const token = randomBytes(32).toString('hex');
  out.progress('getting the inspector');
  const folder = await withinLimit(startMs, signal, installedInspector, (cause) =>
    timedOut('the inspector was not installed within 5 minutes', { hint: 'run the command again', cause }),
  );
  await using inspector = startInspector({ folder, url: withoutFragment(url), mode, ports, token });
  const page = `http://127.0.0.1:${ports.page}/`;
  await waitUntil(
    async () => {
      if (inspector.hasEnded()) {
        throw unavailable('the inspector could not be started', {
          hint: inspector.lastLine() || 'is npm installed?',
        });
      }
      return (await answersAt(page)) ? true : undefined;
    },
    { timeoutMs: startMs, signal, what: 'the inspector to answer' },
  );
  const address = `${page}?${tokenParameter}=${token}`;
  out.record({ url: address }, address);
  out.note(`The inspector is connected to ${name}. Press Ctrl-C to stop. Anyone with this URL can use it.`);
  const given = new AbortController();
  const interrupted = once(signal, 'abort', { signal: given.signal }).catch(() => {}); // it ended first
  await Promise.race([interrupted, inspector.ended]);
  given.abort();
  if (!signal.aborted) throw unavailable('the inspector has ended', { hint: inspector.lastLine() });
}

/** Where the page of the inspector looks for its token. */
const tokenParameter = 'MCP_INSPECTOR_API_TOKEN';

function withoutFragment(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}
