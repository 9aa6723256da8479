import type { Command } from '../../command.ts';
import { oidcFlags, remoteAuthFlags, resourceUrl, tokenExchangeFlags, workload } from '../flags.ts';

/** Proxies in this process, for as long as the command runs. */
export const proxyCommands: readonly Command[] = [
  {
    path: 'proxy',
    summary: 'Put a proxy in front of an MCP server, without a workload',
    description:
      'Listens for clients of every revision of MCP, and passes what they ask on to a server. Signs in there for them, if the server wants that: what clients send to show who they are never goes further. Nothing is kept. The secret of an OAuth client can be in TOOLHIVE_REMOTE_OAUTH_CLIENT_SECRET, too. Ends with Ctrl-C.',
    arguments: [{ name: 'server_name', description: 'What the server is called here', required: true }],
    flags: [
      {
        name: 'target-uri',
        kind: 'string',
        value: 'URL',
        description: 'The server: its endpoint, or only where it is',
        required: true,
      },
      {
        name: 'host',
        kind: 'string',
        value: 'ADDRESS',
        description: 'The address to listen on',
        default: '127.0.0.1',
      },
      {
        name: 'port',
        kind: 'integer',
        value: 'PORT',
        description: 'The port to listen on; 0 is any free port',
        default: 0,
      },
      ...oidcFlags,
      resourceUrl,
      ...remoteAuthFlags,
      ...tokenExchangeFlags,
    ],
    examples: [
      'thv proxy example --target-uri https://mcp.example.com/mcp',
      'thv proxy example --target-uri http://127.0.0.1:3000 --port 8081',
      'thv proxy example --target-uri https://mcp.example.com --oidc-issuer https://id.example.com --oidc-audience mcp',
    ],
    load: () => import('./serve.ts'),
  },
  {
    path: 'proxy stdio',
    unformatted: 'its standard output belongs to the client that started it',
    summary: 'Let a client that only speaks stdio use a workload',
    description:
      'Reads messages of MCP from standard input, asks the workload, and writes what it answers to standard output. Name this command where a client wants to start a server. Ends when its input does.',
    arguments: [workload],
    examples: ['thv proxy stdio filesystem'],
    load: () => import('./stdio.ts'),
  },
  {
    path: 'proxy tunnel',
    summary: 'Make a server reachable from the internet',
    description:
      'Runs the program of a tunnel provider, which gives a server a public URL. Whoever knows that URL can use the server. Ends with Ctrl-C, and the tunnel with it.\n\nngrok takes as arguments: auth-token (better in NGROK_AUTHTOKEN), url, traffic-policy-file, pooling, dry-run.',
    arguments: [
      {
        name: 'target',
        description: 'A workload that runs, or the URL of a server',
        required: true,
        completes: 'workload',
      },
      { name: 'server_name', description: 'What the server is called here', required: true },
    ],
    flags: [
      {
        name: 'tunnel-provider',
        kind: 'string',
        value: 'PROVIDER',
        choices: ['ngrok'],
        description: 'Who gives the public URL',
        required: true,
      },
      {
        name: 'provider-args',
        kind: 'string',
        value: 'JSON',
        description: 'What the provider is told, as a JSON object',
        default: '{}',
      },
    ],
    examples: [
      'thv proxy tunnel filesystem files --tunnel-provider ngrok',
      `thv proxy tunnel filesystem files --tunnel-provider ngrok --provider-args '{"url": "https://files.example.com"}'`,
    ],
    load: () => import('./tunnel.ts'),
  },
];
