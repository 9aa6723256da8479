import { ApprovedItem, ToolPinningMode, defaultToolPinning } from '@toolhive/contract/tool-pins';
import * as z from 'zod';
import { PortNumber, Reference, Replicas, Texts, Variable, off, say } from './values.ts';

const Audit = z.object({ enabled: say(off, 'Record every call in the audit log.') });

const Authorization = z.object({
  type: say(z.enum(['configMap', 'inline']).default('configMap'), 'The location of the policies.'),
  configMap: say(
    z.object({
      name: say(z.string(), 'The name of the ConfigMap.'),
      key: say(z.string().default('authz.json'), 'The key with the policies, as YAML or JSON.'),
    }),
    'A ConfigMap with the policies, for `type: configMap`.',
  ).optional(),
  inline: say(
    z.object({
      policies: say(z.array(z.string()).min(1), 'Cedar policies, one or more in each text.'),
      entitiesJson: say(z.string().default('[]'), 'The Cedar entities that the policies use, as JSON.'),
    }),
    'The policies, for `type: inline`.',
  ).optional(),
});

const inlineOidc = {
  issuer: say(z.string(), 'The OpenID provider whose tokens are accepted.'),
  audience: say(z.string(), 'The required audience of tokens.').optional(),
  clientId: say(z.string(), 'The client ID for token introspection.').optional(),
  clientSecret: say(
    z.string(),
    'The client secret for token introspection. Anyone who may read this resource can see the secret.',
  ).optional(),
  jwksUrl: say(z.string(), 'The URL of the signing keys, if the issuer does not publish it.').optional(),
  introspectionUrl: say(z.string(), 'The introspection URL for opaque tokens.').optional(),
  thvCABundlePath: say(
    z.string(),
    'The path of a file with CA certificates for requests to the provider.',
  ).optional(),
  jwksAuthTokenPath: say(
    z.string(),
    'The path of a file with the bearer token for requests to the signing keys.',
  ).optional(),
  jwksAllowPrivateIP: say(off, 'Allow the provider to have an address in a private network.'),
  insecureAllowHTTP: say(off, 'Allow plain http for requests to the provider.'),
};

const Oidc = z.object({
  type: say(
    z.enum(['kubernetes', 'configMap', 'inline']).default('kubernetes'),
    'The accepted tokens: those of Kubernetes service accounts, or those of an OpenID provider, which is configured in a ConfigMap or inline.',
  ),
  resourceUrl: say(z.string(), 'The resource URL in the protected resource metadata (RFC 9728).').optional(),
  kubernetes: say(
    z.object({
      issuer: say(z.string().default('https://kubernetes.default.svc'), 'The issuer of the cluster.'),
      audience: say(z.string().default('toolhive'), 'The required audience of tokens.'),
      serviceAccount: say(z.string(), 'The service account of callers.').optional(),
      namespace: say(z.string(), 'The namespace of that service account.').optional(),
      jwksUrl: say(
        z.string(),
        "The URL of the cluster's signing keys, if the issuer does not publish it.",
      ).optional(),
      introspectionUrl: say(z.string(), 'The introspection URL for opaque tokens.').optional(),
      useClusterAuth: say(
        z.boolean(),
        "Whether requests for the cluster's keys use its certificate authority and the pod's token. The default is true.",
      ).optional(),
    }),
    'The settings for service account tokens, for `type: kubernetes`.',
  ).optional(),
  configMap: say(
    z.object({
      name: say(z.string(), 'The name of the ConfigMap.'),
      key: say(z.string().default('oidc.json'), 'The key with the configuration.'),
    }),
    'A ConfigMap with the provider settings, for `type: configMap`.',
  ).optional(),
  inline: say(z.object(inlineOidc), 'The provider settings, for `type: inline`.').optional(),
});

const Telemetry = z.object({
  openTelemetry: say(
    z.object({
      enabled: say(off, 'Send traces and metrics.'),
      endpoint: say(z.string(), 'The collector to send to, as HOST:PORT (OTLP over HTTP).').optional(),
      serviceName: say(z.string(), 'The service name. The default is the name of the resource.').optional(),
      headers: say(z.array(z.string()), 'Headers for the collector, as NAME=VALUE.').optional(),
      insecure: say(off, 'Use plain http instead of https.'),
      tracing: say(
        z.object({
          enabled: say(off, 'Send traces.'),
          samplingRate: say(
            z.string().default('0.05'),
            'The fraction of traces to record, from 0.0 to 1.0, as a string.',
          ),
        }),
        'The trace settings.',
      ).optional(),
      metrics: say(z.object({ enabled: say(off, 'Send metrics.') }), 'The metrics settings.').optional(),
    }),
    'The OpenTelemetry settings.',
  ).optional(),
  prometheus: say(
    z.object({ enabled: say(off, 'Serve Prometheus metrics at `/metrics` on the proxy port.') }),
    'The Prometheus settings.',
  ).optional(),
});

const Amounts = z.object({
  cpu: say(z.string(), 'The processor time, such as `500m`.').optional(),
  memory: say(z.string(), 'The memory, such as `128Mi`.').optional(),
});

const Resources = z.object({
  limits: say(Amounts, 'The resource limits.').optional(),
  requests: say(Amounts, 'The resource requests.').optional(),
});

const labels = say(Texts, 'Labels to add.').optional();
const annotations = say(Texts, 'Annotations to add.').optional();

const ResourceOverrides = z.object({
  proxyDeployment: say(
    z.object({
      labels,
      annotations,
      env: say(z.array(Variable), 'Environment variables for the proxy.').optional(),
      imagePullSecrets: say(
        z.array(Reference),
        'The Secrets with credentials for the image registry of the proxy.',
      ).optional(),
      podTemplateMetadataOverrides: say(
        z.object({ labels, annotations }),
        'Additions to the proxy pods.',
      ).optional(),
    }),
    'Additions to the proxy Deployment.',
  ).optional(),
  proxyService: say(z.object({ labels, annotations }), 'Additions to the proxy Service.').optional(),
});

const RateLimit = z.object({
  maxTokens: say(
    z.int().min(1).max(1_000_000).meta({ format: 'int32' }),
    'How many calls are possible at once.',
  ),
  refillPeriod: say(
    z.string().regex(/^([0-9]{1,6}(ms|s|m|h)){1,4}$/),
    'The time after which `maxTokens` calls are possible again, such as `1m`.',
  ),
});

const scopedLimits = {
  shared: say(RateLimit, 'The limit for all callers together.').optional(),
  perUser: say(RateLimit, 'The limit for each authenticated caller.').optional(),
};

const RateLimiting = z.object({
  ...scopedLimits,
  tools: say(
    z.array(z.object({ name: say(z.string(), "The server's name of the tool."), ...scopedLimits })),
    'Further limits on single tools.',
  ).optional(),
});

const SecretKey = z.object({
  name: say(z.string(), 'The name of the Secret.'),
  key: say(z.string(), 'The key in the Secret.'),
});

const SessionStorage = z.object({
  provider: say(
    z.enum(['memory', 'redis', 'valkey']),
    'The storage: the memory of each proxy, or a server that speaks the protocol of Redis and Valkey.',
  ),
  address: say(
    z.string().regex(/^(\[[0-9A-Fa-f:.]+\]|[^\s:/@[\]]+):[0-9]{1,5}$/),
    'The address, as HOST:PORT. Required unless the provider is memory.',
  ).optional(),
  db: say(z.int().min(0).max(99_999).default(0).meta({ format: 'int32' }), 'The number of the database.'),
  keyPrefix: say(
    z.string().regex(/^[A-Za-z0-9:._-]{0,64}$/),
    'The beginning of all keys. The default is `toolhive:`. The namespace, name, and UID of the resource follow.',
  ).optional(),
  username: say(z.string(), 'The user, if the storage has several users.').optional(),
  passwordRef: say(SecretKey, 'The password, in a Secret of this namespace.').optional(),
  tls: say(
    z.object({
      caRef: say(
        z.object({
          kind: say(z.enum(['Secret', 'ConfigMap']).default('Secret'), 'The kind of the object.'),
          name: say(z.string(), 'The name of the object.'),
          key: say(z.string().default('ca.crt'), 'The key in the object.'),
        }),
        'The certificate authority of the storage, in this namespace. By default, those of the system.',
      ).optional(),
    }),
    'Connect with TLS. By default, the connection is not encrypted, but the values are.',
  ).optional(),
});

const ToolPins = z.object({
  mode: say(
    z.enum(ToolPinningMode.options).default(defaultToolPinning),
    'The reaction to items that differ from their pins. warn: clients get them, and the condition ToolsPinned names them. block: clients cannot see or use them. off: nothing is compared.',
  ),
  items: say(
    z.array(ApprovedItem).max(2_000),
    'The approved versions. `thv cluster pins` writes this list.',
  ).optional(),
  configMap: say(
    z.object({
      name: say(z.string(), 'The name of the ConfigMap.'),
      key: say(z.string().default('tool-pins.json'), 'The key with a list of items, as JSON or YAML.'),
    }),
    'A ConfigMap in this namespace with further approved versions.',
  ).optional(),
});

/** The proxy settings for every kind of server. */
export const proxySpec = {
  port: say(PortNumber.default(8080), 'The proxy port for clients.'),
  replicas: say(
    Replicas,
    'The number of proxy pods. If absent, the number stays as it is, so that an autoscaler can set it. A stdio server has one proxy.',
  ).optional(),
  rateLimiting: say(
    RateLimiting,
    'Limits on tool calls. With a session storage, they count the calls of all proxies, otherwise those of each proxy.',
  ).optional(),
  toolPins: say(
    ToolPins,
    'The approved tools, prompts, resources, and instructions. All proxies compare the server with these pins.',
  ).optional(),
  sessionStorage: say(
    SessionStorage,
    'Where proxies store the events of sessions, so that clients get them from another proxy. By default, in memory.',
  ).optional(),
  trustProxyHeaders: say(off, 'Trust the `X-Forwarded-*` headers of a reverse proxy.'),
  authzConfig: say(Authorization, 'The authorization policies.').optional(),
  audit: say(Audit, 'The audit settings.').optional(),
  telemetry: say(Telemetry, 'Traces and metrics of the proxy.').optional(),
  toolConfigRef: say(
    Reference,
    'An MCPToolConfig in this namespace, which filters and renames the tools.',
  ).optional(),
  externalAuthConfigRef: say(
    Reference,
    'An MCPExternalAuthConfig in this namespace, which defines the token exchange for the server.',
  ).optional(),
  resources: say(Resources, 'The processor time and memory of the proxy.').optional(),
  resourceOverrides: say(ResourceOverrides, 'Additions to the objects that the operator creates.').optional(),
};

/** Whose tokens callers have to send. */
export const OidcConfig = say(Oidc, 'The tokens that callers must send.');

/** The proxy status that the operator reports. */
export const proxyStatus = {
  message: say(z.string(), 'The reason for the phase.').optional(),
  url: say(z.string(), 'The proxy URL for clients in the cluster.').optional(),
  toolConfigHash: say(z.string(), 'The hash of the MCPToolConfig in use.').optional(),
  toolPinsHash: say(
    z.string(),
    'The hash of the tool pins in use, which is the key of the listed tools in the ConfigMap NAME-listed-tools.',
  ).optional(),
  externalAuthConfigHash: say(z.string(), 'The hash of the MCPExternalAuthConfig in use.').optional(),
};
