import { describe, expect, test } from 'vitest';
import { RunConfig } from '@toolhive/contract/run-config';
import { parse, parseAllDocuments } from 'yaml';
import { manifestOf } from './manifest.ts';

const plain = {
  schema_version: 'v0.1.0',
  name: 'My_Server',
  base_name: 'My_Server',
  container_name: 'My_Server',
  image: 'ghcr.io/example/server:1',
  transport: 'stdio',
  proxy_mode: 'streamable-http',
  port: 4000,
  permission_profile: { name: 'network', network: { outbound: { insecure_allow_all: true } } },
  group: 'default',
};

describe('a manifest for Kubernetes', () => {
  test('of a simple workload', () => {
    const { manifest, warnings } = manifestOf(RunConfig.parse(plain));

    expect(warnings).toEqual([]);
    expect(manifest).toMatchInlineSnapshot(`
      "apiVersion: toolhive.stacklok.dev/v1alpha1
      kind: MCPServer
      metadata:
        name: my-server
      spec:
        image: ghcr.io/example/server:1
        transport: stdio
        proxyMode: streamable-http
        port: 4000
        permissionProfile:
          type: builtin
          name: network
      "
    `);
  });

  test('of one with everything, and what is left to do', () => {
    const { manifest, warnings } = manifestOf(
      RunConfig.parse({
        ...plain,
        image: 'npx://example@1.0.0',
        transport: 'streamable-http',
        target_port: 8080,
        cmd_args: ['--yes', 'no: yaml'],
        env_vars: { ONE: '1', EMPTY: '', MANY: 'a\nb' },
        secrets: ['my token,target=TOKEN'],
        volumes: ['/srv:/data:ro'],
        permission_profile: { write: ['/var/tmp'], network: { outbound: { allow_host: ['example.com'] } } },
        container_labels: { team: 'red' },
        group: 'research',
        tools_filter: ['say'],
        tools_override: { echo: { name: 'say' } },
        oidc_config: { issuer: 'https://id.example', audience: 'me', clientID: 'id', clientSecret: 'hidden' },
        authz_config: {
          version: '1',
          type: 'cedarv1',
          cedar: { policies: ['permit(principal, action, resource);'] },
        },
        audit_config: { max_data_size: 1024 },
        telemetry_config: { endpoint: 'otel:4318', samplingRate: 0.5, headers: { key: 'hidden' } },
      }),
    );

    expect(manifest).not.toContain('hidden');
    expect(documentsOf(manifest)).toMatchInlineSnapshot(`
      [
        {
          "apiVersion": "toolhive.stacklok.dev/v1alpha1",
          "kind": "MCPServer",
          "metadata": {
            "labels": {
              "team": "red",
            },
            "name": "my-server",
          },
          "spec": {
            "args": [
              "--yes",
              "no: yaml",
            ],
            "audit": {
              "enabled": true,
            },
            "authzConfig": {
              "inline": {
                "policies": [
                  "permit(principal, action, resource);",
                ],
              },
              "type": "inline",
            },
            "env": [
              {
                "name": "ONE",
                "value": "1",
              },
              {
                "name": "EMPTY",
                "value": "",
              },
              {
                "name": "MANY",
                "value": "a
      b",
              },
            ],
            "groupRef": "research",
            "image": "npx://example@1.0.0",
            "oidcConfig": {
              "inline": {
                "audience": "me",
                "clientId": "id",
                "issuer": "https://id.example",
              },
              "type": "inline",
            },
            "permissionProfile": {
              "key": "profile.json",
              "name": "my-server-permissions",
              "type": "configmap",
            },
            "port": 4000,
            "secrets": [
              {
                "key": "my-token",
                "name": "my-server",
                "targetEnvName": "TOKEN",
              },
            ],
            "targetPort": 8080,
            "telemetry": {
              "openTelemetry": {
                "enabled": true,
                "endpoint": "otel:4318",
                "metrics": {
                  "enabled": true,
                },
                "tracing": {
                  "enabled": true,
                  "samplingRate": "0.5",
                },
              },
            },
            "toolConfigRef": {
              "name": "my-server-tools",
            },
            "transport": "streamable-http",
            "volumes": [
              {
                "hostPath": "/var/tmp",
                "mountPath": "/var/tmp",
                "name": "volume-0",
                "readOnly": false,
              },
              {
                "hostPath": "/srv",
                "mountPath": "/data",
                "name": "volume-1",
                "readOnly": true,
              },
            ],
          },
        },
        {
          "apiVersion": "toolhive.stacklok.dev/v1alpha1",
          "kind": "MCPGroup",
          "metadata": {
            "name": "research",
          },
        },
        {
          "apiVersion": "v1",
          "data": {
            "profile.json": "{
        "network": {
          "outbound": {
            "allow_host": [
              "example.com"
            ]
          }
        }
      }
      ",
          },
          "kind": "ConfigMap",
          "metadata": {
            "name": "my-server-permissions",
          },
        },
        {
          "apiVersion": "toolhive.stacklok.dev/v1alpha1",
          "kind": "MCPToolConfig",
          "metadata": {
            "name": "my-server-tools",
          },
          "spec": {
            "toolsFilter": [
              "say",
            ],
            "toolsOverride": {
              "echo": {
                "name": "say",
              },
            },
          },
        },
      ]
    `);
    expect(warnings.join('\n')).toMatchInlineSnapshot(`
      "npx://example@1.0.0 is not an image: build one with thv build, push it, and set its name in spec.image
      no secret is exported: create the Secret my-server with the keys my-token
      mounts become hostPath volumes: each node needs these paths, and the restricted Pod Security Standard refuses them
      the OIDC client secret is omitted
      telemetry headers are omitted"
    `);
  });

  test('of a remote server is an MCPRemoteProxy', () => {
    const { manifest, warnings } = manifestOf(
      RunConfig.parse({
        ...aRemote,
        oidc_config: { issuer: 'https://id.example', audience: 'me' },
        tools_filter: ['say'],
        remote_auth_config: { headers: [{ name: 'X-Key', description: '', required: true, secret: true }] },
      }),
    );

    expect(documentsOf(manifest)).toMatchInlineSnapshot(`
      [
        {
          "apiVersion": "toolhive.stacklok.dev/v1alpha1",
          "kind": "MCPRemoteProxy",
          "metadata": {
            "name": "my-server",
          },
          "spec": {
            "oidcConfig": {
              "inline": {
                "audience": "me",
                "issuer": "https://id.example",
              },
              "type": "inline",
            },
            "port": 4000,
            "remoteURL": "https://mcp.example.com/mcp",
            "toolConfigRef": {
              "name": "my-server-tools",
            },
            "transport": "streamable-http",
          },
        },
        {
          "apiVersion": "toolhive.stacklok.dev/v1alpha1",
          "kind": "MCPToolConfig",
          "metadata": {
            "name": "my-server-tools",
          },
          "spec": {
            "toolsFilter": [
              "say",
            ],
          },
        },
      ]
    `);
    expect(warnings.join('\n')).toMatchInlineSnapshot(`
      "headers for the remote server are omitted
      the sign-in at the remote server is omitted: to get tokens for the remote server, refer to an MCPExternalAuthConfig in spec.externalAuthConfigRef"
    `);
  });

  test('of a remote server requires OIDC settings', () => {
    expect(() => manifestOf(RunConfig.parse(aRemote))).toThrow('My_Server has no OIDC settings');
  });

  test('has only names and labels that Kubernetes accepts', () => {
    const labels = { team: 'red', 'bad key': 'x', role: 'two words' };

    const { manifest, warnings } = manifestOf(
      RunConfig.parse({ ...plain, name: `${'A'.repeat(45)}-_${'b'.repeat(45)}`, container_labels: labels }),
    );

    expect(parse(manifest)).toMatchObject({ metadata: { name: 'a'.repeat(45), labels: { team: 'red' } } });
    expect(warnings).toEqual(['labels that Kubernetes does not accept are omitted: bad key, role']);
  });

  test('has the profile none for the network mode none', () => {
    const { manifest, warnings } = manifestOf(
      RunConfig.parse({ ...plain, permission_profile: { network: { mode: 'none' } } }),
    );

    expect(parse(manifest)).toMatchObject({ spec: { permissionProfile: { type: 'builtin', name: 'none' } } });
    expect(warnings).toEqual([]);
  });

  test('never opens a way between a pod and the machine of a user, and says so', () => {
    const { manifest, warnings } = manifestOf(
      RunConfig.parse({
        ...plain,
        local_ports: [5432],
        publish: ['3500'],
        allowed_origins: ['https://app.example'],
      }),
    );

    expect(manifest).not.toMatch(/5432|3500|app\.example/);
    expect(warnings).toEqual([
      'the ports of this machine are omitted',
      'the published ports are omitted',
      'the allowed origins of web pages are omitted',
    ]);
  });

  test('never grants the privileged mode or a network mode of the container engine', () => {
    const { manifest, warnings } = manifestOf(
      RunConfig.parse({ ...plain, permission_profile: { privileged: true, network: { mode: 'host' } } }),
    );

    const [, profile] = documentsOf(manifest) as { data: Record<string, string> }[];
    expect(JSON.parse(profile?.data['profile.json'] ?? '')).toEqual({ network: { outbound: {} } });
    expect(warnings).toEqual([
      'the privileged mode is omitted',
      'the network mode of the container engine is omitted',
    ]);
  });
});

const aRemote = {
  ...plain,
  image: undefined,
  transport: 'streamable-http',
  remote_url: 'https://mcp.example.com/mcp',
};

function documentsOf(manifest: string): unknown[] {
  return parseAllDocuments(manifest).map((document) => document.toJS() as unknown);
}
