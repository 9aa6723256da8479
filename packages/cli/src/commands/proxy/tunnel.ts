import type { CommandCall } from '../../command.ts';
import { invalid } from '@toolhive/contract/failure';
import { endpointOf } from '../endpoint.ts';
import { ngrok } from './ngrok.ts';
import { runTunnel } from './tunnel-program.ts';
import type { TunnelProvider } from './tunnel-program.ts';

/** Who gives public URLs, by the name that `--tunnel-provider` takes. */
const providers: Readonly<Record<string, TunnelProvider>> = { ngrok };

/** Gives a server a public URL until a signal stops it. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: given, flags, out, signal } = call;
  const [target = '', name = ''] = given;
  const provider = providers[flags.text('tunnel-provider') ?? ''];
  if (provider === undefined) throw invalid('unknown tunnel provider');
  const settings = parseObject(flags.text('provider-args') ?? '{}');
  const endpoint = new URL(await endpointOf(target, call));
  const launch = provider.launch(endpoint, settings);
  if (launch.isDry) {
    const command = [provider.program, ...launch.arguments];
    return out.result({ command }, command.join(' '));
  }

  await runTunnel(provider, launch, {
    signal,
    note: out.note,
    onOpen(publicUrl) {
      const url = new URL(`${endpoint.pathname}${endpoint.search}`, publicUrl);
      out.note(`WARNING: anyone with this URL can use ${name} with all its permissions`);
      out.record({ name, url: url.href }, `${name} is at ${url.href}`);
    },
  });
}

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The error does not quote the text, because it may contain a token.
    throw invalid('--provider-args is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('--provider-args is not a JSON object');
  return value;
}
