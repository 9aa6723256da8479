import type { Command } from '../../command.ts';
import { oidcFlags, remoteAuthFlags, resourceUrl, tokenExchangeFlags, workload } from '../flags.ts';

/** Proxies in this process, for as long as the command runs. */
export const proxyCommands: readonly Command[] = [
  {
    path: 'proxy',
    summary: 'Run a proxy for an MCP server without a workload',
    description:
      "Listens for clients with any MCP protocol version, and forwards their requests to a server. If the server requires authentication, signs in. Clients' credentials are never forwarded. Nothing is stored. The environment variable TOOLHIVE_REMOTE_OAUTH_CLIENT_SECRET can contain the OAuth client secret. Press Ctrl-C to stop.",
    arguments: [{ name: 'server_name', description: 'A name for the server', required: true }],
    flags: [
      {
        name: 'target-uri',
        kind: 'string',
        value: 'URL',
        description: 'The server: its endpoint, or its base URL',
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
        description: 'The port to listen on. 0 selects a free port',
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
    summary: 'Connect a stdio client to a workload',
    description:
      'Reads MCP messages from standard input, forwards them to the workload, and writes the responses to standard output. Use this command in clients that only start servers over stdio. Ends with its input.',
    arguments: [workload],
    examples: ['thv proxy stdio filesystem'],
    load: () => import('./stdio.ts'),
  },
  {
    path: 'proxy tunnel',
    summary: 'Expose a server to the internet through a tunnel',
    description:
      "Runs a tunnel provider's program, which gives a server a public URL. Anyone with that URL can use the server. Press Ctrl-C to stop the program and close the tunnel.\n\nngrok requires a token in NGROK_AUTHTOKEN or in the argument auth-token. It also accepts these arguments: url, traffic-policy-file, pooling, dry-run.",
    arguments: [
      {
        name: 'target',
        description: 'A running workload, or the URL of a server',
        required: true,
        completes: 'workload',
      },
      { name: 'server_name', description: 'A name for the server', required: true },
    ],
    flags: [
      {
        name: 'tunnel-provider',
        kind: 'string',
        value: 'PROVIDER',
        choices: ['ngrok'],
        description: 'The tunnel provider',
        required: true,
      },
      {
        name: 'provider-args',
        kind: 'string',
        value: 'JSON',
        description: "The provider's arguments, as a JSON object",
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
