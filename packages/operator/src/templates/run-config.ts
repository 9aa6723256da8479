import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { RunConfig } from '@toolhive/contract/run-config';
import * as z from 'zod';
import type { mcpServer } from '../crds/mcp-server.ts';
import type { mcpRemoteProxy } from '../crds/mcp-remote-proxy.ts';
import type { mcpToolConfig } from '../crds/mcp-tool-config.ts';
import type { mcpExternalAuthConfig } from '../crds/mcp-external-auth-config.ts';
import { acceptedTokens } from './accepted-tokens.ts';
import { urlOf } from './names.ts';

export type ServerSpec = z.infer<typeof mcpServer.spec>;
export type RemoteProxySpec = z.infer<typeof mcpRemoteProxy.spec>;
export type ToolConfigSpec = z.infer<typeof mcpToolConfig.spec>;
export type ExternalAuthSpec = z.infer<typeof mcpExternalAuthConfig.spec>;

/** A custom resource with a proxy, and all that its spec refers to. */
export type Proxied = {
  name: string;
  namespace: string;
  /** The content of the ConfigMap in `oidcConfig.configMap`. */
  oidcData?: Record<string, string>;
  tools?: ToolConfigSpec;
  exchange?: ExternalAuthSpec['tokenExchange'];
  /** Whether the Vault agent injects files into the proxy pod, which has no use for them. */
  hasVault: boolean;
  proxyHost: string;
} & (
  | { kind: 'MCPServer'; spec: ServerSpec; profile: PermissionProfile }
  | { kind: 'MCPRemoteProxy'; spec: RemoteProxySpec }
);

/** A spec that cannot work. The message names the field and a fix. */
export class InvalidSpec extends Error {}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Builds the run config for the proxy pod. Throws `InvalidSpec`. */
export function runConfigOf(proxied: Proxied): RunConfig {
  const { name, kind, spec, tools, proxyHost } = proxied;
  const oidc = oidcOf(proxied);
  const config = {
    schema_version: 'v0.1.0' as const,
    name,
    base_name: name,
    container_name: name,
    host: proxyHost,
    port: spec.port,
    transport: spec.transport,
    ...(kind === 'MCPServer'
      ? serverFields(proxied)
      : { remote_url: proxied.spec.remoteURL, group: proxied.spec.groupRef }),
    ...(oidc === undefined ? { insecure_no_auth: true } : { oidc_config: oidc }),
    ...(spec.authzConfig === undefined ? {} : { authz_config_path: '/etc/toolhive/authz/authz.json' }),
    ...(spec.audit?.enabled === true ? { audit_config: {} } : {}),
    telemetry_config: telemetryOf(proxied),
    token_exchange_config: exchangeOf(proxied),
    tools_filter: tools?.toolsFilter ?? (kind === 'MCPServer' ? proxied.spec.tools : undefined),
    tools_override: tools?.toolsOverride,
    tool_pinning: spec.toolPins?.mode,
    trust_proxy_headers: spec.trustProxyHeaders ? true : undefined,
    runtime: 'kubernetes',
  };
  const defined = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const parsed = RunConfig.safeParse(defined);
  if (!parsed.success) throw new InvalidSpec(`invalid run config: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function serverFields({ spec, profile, hasVault }: Extract<Proxied, { kind: 'MCPServer' }>): object {
  if (spec.transport !== 'stdio' && spec.targetPort === undefined) {
    throw new InvalidSpec(`spec.targetPort is required for transport ${spec.transport}`);
  }
  if (hasVault) {
    throw new InvalidSpec(
      'the Vault annotations of spec.resourceOverrides.proxyDeployment have no effect on the server, which has another pod: set them in spec.podTemplateSpec.metadata.annotations',
    );
  }
  return {
    image: spec.image,
    ...(spec.transport === 'stdio' ? { proxy_mode: spec.proxyMode } : { target_port: spec.targetPort }),
    cmd_args: spec.args,
    env_vars: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    permission_profile: profile,
    isolate_network: true,
    group: spec.groupRef,
  };
}

function oidcOf(proxied: Proxied): object | undefined {
  const { kind, name, namespace, spec, oidcData } = proxied;
  const { oidcConfig: oidc } = spec;
  if (oidc === undefined) return undefined;
  const resourceURL = oidc.resourceUrl ?? urlOf(kind, name, namespace, spec.port);
  if (oidc.type === 'kubernetes') {
    const settings = oidc.kubernetes;
    if ((settings?.serviceAccount ?? '') !== '' || (settings?.namespace ?? '') !== '') {
      throw new InvalidSpec(
        'spec.oidcConfig.kubernetes.serviceAccount and namespace are not supported, because the proxy accepts the tokens of every service account with the audience: restrict callers with a policy in spec.authzConfig, or remove the fields',
      );
    }
    const usesCluster = settings?.useClusterAuth ?? true;
    return {
      ...acceptedTokens(oidc),
      ...(settings?.jwksUrl === undefined ? {} : { jwksurl: settings.jwksUrl }),
      ...(settings?.introspectionUrl === undefined ? {} : { introspectionURL: settings.introspectionUrl }),
      ...(usesCluster
        ? {
            cacertPath: `${SERVICE_ACCOUNT}/ca.crt`,
            authTokenFile: `${SERVICE_ACCOUNT}/token`,
            allowPrivateIP: true,
          }
        : {}),
      resourceURL,
    };
  }
  if (oidc.type === 'configMap') {
    const data = oidcData ?? {};
    return withoutEmpty({
      issuer: data['issuer'],
      audience: data['audience'],
      jwksurl: data['jwksUrl'],
      introspectionURL: data['introspectionUrl'],
      clientID: data['clientId'],
      cacertPath: data['thvCABundlePath'],
      authTokenFile: data['jwksAuthTokenPath'],
      allowPrivateIP: data['jwksAllowPrivateIP'] === 'true',
      insecureAllowHTTP: data['insecureAllowHTTP'] === 'true',
      resourceURL,
    });
  }
  if (oidc.inline === undefined) throw new InvalidSpec('spec.oidcConfig.inline is required for type inline');
  const { inline } = oidc;
  if (inline.clientSecret !== undefined && inline.clientSecret !== '') {
    throw new InvalidSpec(
      'spec.oidcConfig.inline.clientSecret is not supported, because anyone who can read the resource can see the secret: use type configMap, or remove the field',
    );
  }
  return withoutEmpty({
    issuer: inline.issuer,
    audience: inline.audience,
    jwksurl: inline.jwksUrl,
    introspectionURL: inline.introspectionUrl,
    clientID: inline.clientId,
    cacertPath: inline.thvCABundlePath,
    authTokenFile: inline.jwksAuthTokenPath,
    allowPrivateIP: inline.jwksAllowPrivateIP,
    insecureAllowHTTP: inline.insecureAllowHTTP,
    resourceURL,
  });
}

function telemetryOf({ name, spec }: Proxied): object | undefined {
  const telemetry = spec.telemetry?.openTelemetry;
  const prometheus = spec.telemetry?.prometheus?.enabled === true;
  if (telemetry?.enabled !== true) return prometheus ? { enablePrometheusMetricsPath: true } : undefined;
  const rate = Number(telemetry.tracing?.samplingRate ?? '0.05');
  if (!(rate >= 0 && rate <= 1)) {
    throw new InvalidSpec(
      'spec.telemetry.openTelemetry.tracing.samplingRate is not a number from 0.0 to 1.0',
    );
  }
  const settings = withoutEmpty({
    endpoint: telemetry.endpoint?.replace(/^https?:\/\//, ''),
    serviceName: telemetry.serviceName ?? name,
    headers: Object.fromEntries(
      (telemetry.headers ?? []).map((header) => {
        const separator = header.indexOf('=');
        if (separator < 1)
          throw new InvalidSpec('an item of spec.telemetry.openTelemetry.headers is not NAME=VALUE');
        return [header.slice(0, separator), header.slice(separator + 1)];
      }),
    ),
    insecure: telemetry.insecure,
    samplingRate: rate,
    ...(prometheus ? { enablePrometheusMetricsPath: true } : {}),
  });
  // The proxy sends both unless they are off.
  return {
    ...settings,
    tracingEnabled: telemetry.tracing?.enabled ?? false,
    metricsEnabled: telemetry.metrics?.enabled ?? false,
  };
}

function exchangeOf({ exchange }: Proxied): object | undefined {
  if (exchange === undefined) return undefined;
  const header = exchange.externalTokenHeaderName;
  return withoutEmpty({
    token_url: exchange.tokenUrl,
    client_id: exchange.clientId,
    audience: exchange.audience,
    scopes: exchange.scopes,
    header_strategy: header === undefined ? 'replace' : 'custom',
    external_token_header_name: header,
  });
}

function withoutEmpty(fields: Record<string, unknown>): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== '' && value !== false),
  );
}
