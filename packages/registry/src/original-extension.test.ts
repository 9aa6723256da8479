import { describe, expect, test } from 'vitest';
import { readRegistry } from './read.ts';

const image = 'ghcr.io/example/weather:1.0.0';
const url = 'https://weather.example.com/mcp';
const provenance = {
  sigstore_url: 'tuf-repo-cdn.sigstore.dev',
  repository_uri: 'https://github.com/example/weather',
  signer_identity: '/.github/workflows/release.yml',
  runner_environment: 'github-hosted',
  cert_issuer: 'https://token.actions.githubusercontent.com',
};

/** A registry file as the original publishes it, with its statements about each place. */
const read = (about: object, more: object = {}) =>
  readRegistry({
    version: '1.0.0',
    meta: { last_updated: '2026-01-01T00:00:00Z' },
    data: {
      servers: [
        {
          name: 'io.github.stacklok/weather',
          description: 'Weather',
          version: '1.0.0',
          packages: [{ registryType: 'oci', identifier: image, transport: { type: 'stdio' } }],
          remotes: [{ type: 'streamable-http', url }],
          _meta: {
            'io.modelcontextprotocol.registry/publisher-provided': { 'io.github.stacklok': about, ...more },
          },
        },
      ],
    },
  });
const local = (about: object, more?: object) =>
  read(about, more).registry.servers['io-github-stacklok-weather'];
const remote = (about: object) => Object.values(read(about).registry.remote_servers)[0];

describe('what a registry of the original says about', () => {
  test('an image is in its entry', () => {
    const { custom_metadata: custom, ...said } = {
      tier: 'Official',
      tools: ['forecast'],
      tags: ['sky'],
      metadata: { stars: 17, last_updated: '2025-11-15T02:31:08Z' },
      permissions: { network: { outbound: { allow_host: ['api.weather.example'], allow_port: [443] } } },
      provenance,
      args: ['--units', 'metric'],
      custom_metadata: { team: 'sky' },
    };
    const entry = local({ [image]: { ...said, status: 'active', custom_metadata: custom } });

    expect(entry).toMatchObject({ image, ...said, status: 'Active' });
    expect(entry?.custom_metadata).toMatchObject({ ...custom, registry_name: 'io.github.stacklok/weather' });
  });

  test('a URL is in the entry of the remote server', () => {
    const oauth_config = { issuer: 'https://id.example.com', client_id: 'weather', scopes: ['read'] };
    const env_vars = [{ name: 'PLACE', description: 'A place.', required: true, secret: false }];
    const about = {
      [url]: { status: 'deprecated', tier: 'Official', tools: ['rain'], oauth_config, env_vars },
    };

    expect(remote(about)).toMatchObject({
      url,
      status: 'Deprecated',
      tier: 'Official',
      tools: ['rain'],
      oauth_config,
      env_vars,
    });
    expect(local(about)).toMatchObject({ status: 'Active', tier: 'Community', tools: [] });
  });

  test('another image is not in the entry, because it says nothing about this one', () => {
    const about = { 'ghcr.io/example/weather:0.9.0': { tier: 'Official', provenance, permissions: {} } };

    expect(local(about)).toMatchObject({ tier: 'Community' });
    expect(local(about)).not.toHaveProperty('provenance');
    expect(local(about)).not.toHaveProperty('permissions');
  });

  test('an image yields to what ToolHive says itself', () => {
    const about = { [image]: { tier: 'Official', tools: ['forecast'] } };

    expect(local(about, { 'dev.toolhive': { tools: ['rain'] } })).toMatchObject({
      tier: 'Official',
      tools: ['rain'],
    });
  });

  test.each([[{ [image]: null }], [{ [image]: 'Official' }], [[]], [{ constructor: { tier: 'Official' } }]])(
    'nothing is ignored: %j',
    (about) => {
      expect(local(about)).toMatchObject({ image, tier: 'Community', status: 'Active' });
    },
  );
});
