import { openAccess } from '@toolhive/access/access';
import { openUnkeptRemote } from '@toolhive/remote/open';
import type { UnkeptRemoteOptions } from '@toolhive/remote/open';
import { ThvError, invalid, messageOf, notImplemented, timedOut } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { findEndpoint, withoutCredentials } from '@toolhive/proxy/endpoint';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { ProxyAccess } from '@toolhive/proxy/proxy';
import type { CommandCall, FlagValues } from '../../command.ts';
import { openLog } from '../../log.ts';
import { version } from '../../version.ts';
import { untilAborted, withinLimit } from '../../wait.ts';
import { oidcFrom } from '../access.ts';
import { clientSecretFrom } from '../client-secret.ts';
import { tokenExchangeFlags } from '../flags.ts';
import { portFrom } from '../port.ts';

/** How long the server's first answer may take. */
const findingMs = 30_000;

/** Runs a proxy for a server until a signal stops it. */
export async function run(call: CommandCall): Promise<void> {
  try {
    await serve(call);
  } catch (thrown) {
    const { namingFlags } = await import('../workloads/request.ts');
    throw namingFlags(thrown, call.flags);
  }
}

async function serve({ arguments: [name = ''], flags, out, signal }: CommandCall): Promise<void> {
  refuseTokenExchange(flags);
  const target = targetFrom(flags.text('target-uri') ?? '');
  const access = accessFrom(flags);
  const host = flags.text('host') ?? '127.0.0.1';
  const port = portFrom(flags);
  const config = remoteAuthFrom(flags);
  const clientSecret =
    (await clientSecretFrom(flags, 'oauth_config')) ?? process.env['TOOLHIVE_REMOTE_OAUTH_CLIENT_SECRET'];
  const log = openLog({ debug: flags.has('debug') });

  const { url, transport } = await withinLimit(
    findingMs,
    signal,
    (looking) => findEndpoint(withoutCredentials(target), looking),
    (cause) =>
      timedOut(`${new URL(target).origin} did not answer within ${findingMs / 1000} seconds`, {
        hint: 'check that it is a running MCP server',
        cause,
      }),
  );
  await using proxy = await WorkloadProxy.open({
    host,
    port,
    transport,
    sessions: 'own',
    repairsResults: true,
    version,
    access,
    onInvalidOutput: (line) => log.debug({ line: line.slice(0, 200) }, 'not a message'),
    onExcess(reason) {
      log.error({ reason }, 'server stopped');
      proxy.disconnect(`it ${reason}`, true);
    },
    onFault: (error) => log.error({ err: error }, 'fault in the proxy'),
  });
  await using remote = await openUnkeptRemote({
    url,
    config,
    clientSecret,
    onSignIn: (page) => out.note(`To sign in, open ${page}`),
    onNotSignedIn: (error) => out.note(messageOf(error)),
    hint: 'start this command again',
    signal,
  });
  if (flags.has('remote-auth')) {
    await remote.signIn().catch((thrown: unknown) => {
      throw namingIssuer(thrown, config);
    });
  }
  await proxy.connect({ address: remote.server }, noOther, signal);
  remote.settle();

  if (access === undefined && !isLoopback(host))
    out.note(`WARNING: anyone who can reach ${host} can use ${name} with your permissions`);
  const shown = host.includes(':') ? `[${host}]` : host;
  const own = `http://${shown}:${proxy.port}/mcp`;
  out.record({ name, url: own }, `${name} is at ${own}`);
  await untilAborted(signal);
}

/** Names the flags for a server without a description of its sign-in. */
function namingIssuer(thrown: unknown, { issuer, authorize_url }: UnkeptRemoteOptions['config']): unknown {
  const isFor = thrown instanceof ThvError && thrown.kind === 'unavailable';
  if (!isFor || issuer !== undefined || authorize_url !== undefined) return thrown;
  return new ThvError(thrown.kind, `--remote-auth found no place to sign in: ${thrown.message}`, {
    hint: 'add --remote-auth-issuer, or --remote-auth-authorize-url with --remote-auth-token-url and --remote-auth-client-id',
    cause: thrown,
  });
}

const noOther = (): Promise<never> =>
  Promise.reject(new Error('a remote server is not started on this machine'));

function targetFrom(text: string): string {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  // The error does not quote the text, because it may contain a password.
  if (url === null || !isHttp || url.username !== '' || url.password !== '') {
    throw invalid('--target-uri must be an http or https URL without a user name and a password', {
      hint: 'such as http://127.0.0.1:3000 or https://mcp.example.com/mcp',
    });
  }
  url.hash = '';
  return url.href;
}

function accessFrom(flags: FlagValues): ProxyAccess | undefined {
  const oidc = oidcFrom(flags);
  const check = openAccess({ oidc });
  const resource = flags.text('resource-url');
  if (check === undefined || oidc === undefined) {
    if (resource === undefined) return undefined;
    throw invalid("--resource-url requires --oidc-issuer, because it describes the tokens' audience", {
      hint: 'add --oidc-issuer and --oidc-audience',
    });
  }
  if (resource === undefined) return { check };
  if (!URL.canParse(resource)) throw invalid(`--resource-url is not a URL: ${JSON.stringify(resource)}`);
  const authorization_servers = oidc.issuer === undefined ? [] : [oidc.issuer];
  return { check, resource: { resource, authorization_servers } };
}

function remoteAuthFrom(flags: FlagValues): UnkeptRemoteOptions['config'] {
  return {
    issuer: flags.text('remote-auth-issuer'),
    authorize_url: flags.text('remote-auth-authorize-url'),
    token_url: flags.text('remote-auth-token-url'),
    client_id: flags.text('remote-auth-client-id'),
    scopes: flags.list('remote-auth-scopes'),
    resource: flags.text('remote-auth-resource'),
    skip_browser: flags.has('remote-auth-skip-browser'),
    callback_port: flags.number('remote-auth-callback-port'),
    timeout: `${flags.milliseconds('remote-auth-timeout')}ms`,
  };
}

/** All clients share conversations with the server, so that one cannot be had with the token of each. */
function refuseTokenExchange(flags: FlagValues): void {
  const given = tokenExchangeFlags.find(({ name }) => flags.isGiven(name));
  if (given !== undefined)
    throw notImplemented('thv proxy does not support token exchange', {
      hint: `omit --${given.name}`,
    });
}
