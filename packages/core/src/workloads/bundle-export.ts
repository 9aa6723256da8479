import type { ExportedBundle } from '@toolhive/contract/bundle';
import type { RunConfig } from '@toolhive/contract/run-config';
import { embeddedProgram } from '@toolhive/runtime/embedded-program';
import { isAuthenticated } from '@toolhive/access/workload-access';
import { urlOf } from '../run-config/kinds.ts';

const PROGRAM = 'server/index.js';

/**
 * A bundle that connects to a workload. It contains no secrets and nothing of the server, so that the server stays
 * isolated and runs once for all clients.
 */
export function connectorTo(runConfig: RunConfig): ExportedBundle {
  const { name } = runConfig;
  const url = new URL('/mcp', urlOf(runConfig)).href; // every proxy serves it
  const needsToken = isAuthenticated(runConfig);
  const manifest = {
    manifest_version: '0.2',
    name,
    display_name: name,
    version: '1.0.0',
    description: `Connects to the workload ${name} of ToolHive.`,
    author: { name: 'ToolHive' },
    server: {
      type: 'node',
      entry_point: PROGRAM,
      mcp_config: {
        command: 'node',
        args: [`\${__dirname}/${PROGRAM}`],
        env: {
          WORKLOAD_URL: '${user_config.url}',
          ...(needsToken ? { WORKLOAD_TOKEN: '${user_config.token}' } : {}),
        },
      },
    },
    tools_generated: true,
    compatibility: { runtimes: { node: '>=18.0.0' } },
    user_config: {
      url: {
        type: 'string',
        title: 'Workload URL',
        description: 'The URL that thv list shows.',
        required: true,
        default: url,
      },
      ...(needsToken
        ? {
            token: {
              type: 'string',
              title: 'Access token',
              description: 'A token that the workload accepts.',
              required: true,
              sensitive: true,
            },
          }
        : {}),
    },
  };
  return {
    files: [
      { path: 'manifest.json', text: `${JSON.stringify(manifest, null, 2)}\n` },
      { path: PROGRAM, text: embeddedProgram('bundle-bridge.ts') },
    ],
  };
}
