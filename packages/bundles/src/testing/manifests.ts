/** A manifest of a server of Node.js. */
export function aManifest(changes: object = {}): Record<string, unknown> {
  return {
    manifest_version: '0.3',
    name: 'notes',
    version: '1.2.0',
    description: 'Reads notes',
    author: { name: 'Ada' },
    server: aServer(),
    ...changes,
  };
}

export function aServer(changes: object = {}): Record<string, unknown> {
  return {
    type: 'node',
    entry_point: 'server/index.js',
    mcp_config: { command: 'node', args: ['${__dirname}/server/index.js'], env: {} },
    ...changes,
  };
}
