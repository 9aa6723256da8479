import { describe, expect, test } from 'vitest';
import { RunConfig } from '@toolhive/contract/run-config';
import { parse } from 'yaml';
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
    expect(parse(manifest)).toMatchInlineSnapshot(`
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
            "name": "none",
            "type": "builtin",
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
          "tools": [
            "say",
          ],
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
      }
    `);
    expect(warnings.join('\n')).toMatchInlineSnapshot(`
      "npx://example@1.0.0 is not an image: build one with thv build, push it, and set its name in spec.image
      no secret is exported: create the Secret my-server with the keys my-token
      the operator does not know its permission profile, so the server gets none: create a ConfigMap with the profile and name it in spec.permissionProfile
      other names of tools are left out: put them into an MCPToolConfig and name that in spec.toolConfigRef
      create the MCPGroup research, because the server belongs to it
      the secret of the OIDC client is left out
      headers for telemetry are left out"
    `);
  });

  test('is not to be had of a remote server', () => {
    const remote = RunConfig.parse({ ...plain, image: undefined, remote_url: 'https://mcp.example.com' });

    expect(() => manifestOf(remote)).toThrow('My_Server is a remote server');
  });
});
