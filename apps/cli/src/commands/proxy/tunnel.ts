import type { CommandCall } from '../../command.ts';
import { invalid } from '@toolhive/contract/failure';
import { endpointOf } from '../endpoint.ts';
import { ngrok } from './ngrok.ts';
import { runTunnel } from './tunnel-program.ts';
import type { TunnelProvider } from './tunnel-program.ts';

/** Who gives public URLs, by the name that `--tunnel-provider` takes. */
const providers: Readonly<Record<string, TunnelProvider>> = { ngrok };

/** Gives a server a public URL until it is told to end. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: given, flags, out, signal } = call;
  const [target = '', name = ''] = given;
  const provider = providers[flags.text('tunnel-provider') ?? ''];
  if (provider === undefined) throw invalid('there is no such provider of tunnels');
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
      out.note(`WARNING: whoever knows this URL can use ${name}, and with it whatever the server may do`);
      out.record({ name, url: url.href }, `${name} is at ${url.href}`);
    },
  });
}

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // What was typed is not repeated: it may hold a token.
    throw invalid('--provider-args is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('--provider-args is no JSON object');
  return value;
}
