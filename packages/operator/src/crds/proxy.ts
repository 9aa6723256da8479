import * as z from 'zod';
import { PortNumber, Reference, Texts, Variable, off, say } from './values.ts';

const Audit = z.object({ enabled: say(off, 'Write down every call.') });

const Authorization = z.object({
  type: say(z.enum(['configMap', 'inline']).default('configMap'), 'Where the policies are.'),
  configMap: say(
    z.object({
      name: say(z.string(), 'The name of the ConfigMap.'),
      key: say(z.string().default('authz.json'), 'The key that holds the policies, as YAML or JSON.'),
    }),
    'A ConfigMap with the policies, for `type: configMap`.',
  ).optional(),
  inline: say(
    z.object({
      policies: say(z.array(z.string()).min(1), 'Cedar policies, one or more in each text.'),
      entitiesJson: say(z.string().default('[]'), 'Cedar entities that policies speak of, as JSON.'),
    }),
    'The policies themselves, for `type: inline`.',
  ).optional(),
});

const inlineOidc = {
  issuer: say(z.string(), 'The OpenID provider whose tokens are accepted.'),
  audience: say(z.string(), 'The required audience of tokens.').optional(),
  clientId: say(z.string(), 'The client ID for token introspection.').optional(),
  clientSecret: say(z.string(), 'The client secret for token introspection. Anyone who may read this resource can see the secret.')
    .optional(), // prettier-ignore
  jwksUrl: say(z.string(), 'The URL of the signing keys, if the issuer does not publish it.').optional(),
  introspectionUrl: say(z.string(), 'The introspection URL for opaque tokens.').optional(),
  thvCABundlePath: say(z.string(), 'Certificate authorities for requests to the provider.').optional(),
  jwksAuthTokenPath: say(z.string(), 'A file with a token to send where the keys are.').optional(),
  jwksAllowPrivateIP: say(off, 'The provider may have an address of a private network.'),
  insecureAllowHTTP: say(off, 'The provider may be reached over plain http.'),
};

const Oidc = z.object({
  type: say(
    z.enum(['kubernetes', 'configMap', 'inline']).default('kubernetes'),
    'Whose tokens are accepted: those of service accounts, or those of a provider that is described elsewhere or here.',
  ),
  resourceUrl: say(
    z.string(),
    'What tokens are for, as told to callers who have none (RFC 9728).',
  ).optional(),
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
      introspectionUrl: say(z.string(), 'Where tokens are looked up.').optional(),
      useClusterAuth: say(
        z.boolean(),
        "Whether requests for the cluster's keys use its certificate authority and the pod's token. The default is true.",
      ).optional(),
    }),
    'Tokens of service accounts, for `type: kubernetes`.',
  ).optional(),
  configMap: say(
    z.object({
      name: say(z.string(), 'The name of the ConfigMap.'),
      key: say(z.string().default('oidc.json'), 'The key that holds the configuration.'),
    }),
    'A ConfigMap that describes the provider, for `type: configMap`.',
  ).optional(),
  inline: say(z.object(inlineOidc), 'The provider itself, for `type: inline`.').optional(),
});

const Telemetry = z.object({
  openTelemetry: say(
    z.object({
      enabled: say(off, 'Send traces and metrics.'),
      endpoint: say(z.string(), 'Who collects them (OTLP over HTTP).').optional(),
      serviceName: say(z.string(), 'The service name. The default is the name of the resource.').optional(),
      headers: say(z.array(z.string()), 'Headers for the collector, as NAME=VALUE.').optional(),
      insecure: say(off, 'Send them over plain http.'),
      tracing: say(
        z.object({
          enabled: say(off, 'Send traces.'),
          samplingRate: say(
            z.string().default('0.05'),
            'Which part of all traces is kept, from 0.0 to 1.0, as a text.',
          ),
        }),
        'What is said about traces.',
      ).optional(),
      metrics: say(
        z.object({ enabled: say(off, 'Send metrics.') }),
        'What is said about metrics.',
      ).optional(),
    }),
    'What is sent to a collector.',
  ).optional(),
  prometheus: say(
    z.object({ enabled: say(off, 'Serve Prometheus metrics at `/metrics` on the proxy port.') }),
    'What others fetch.',
  ).optional(),
});

const Amounts = z.object({
  cpu: say(z.string(), 'Processor time, such as `500m`.').optional(),
  memory: say(z.string(), 'Memory, such as `128Mi`.').optional(),
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
      podTemplateMetadataOverrides: say(
        z.object({ labels, annotations }),
        'What is added to the pods of the proxy.',
      ).optional(),
    }),
    'What is added to the Deployment of the proxy.',
  ).optional(),
  proxyService: say(
    z.object({ labels, annotations }),
    'What is added to the Service in front of the proxy.',
  ).optional(),
});

/** The proxy settings for every kind of server. */
export const proxySpec = {
  port: say(PortNumber.default(8080), 'The port that clients reach the proxy on.'),
  trustProxyHeaders: say(off, 'Trust the `X-Forwarded-*` headers of a reverse proxy.'),
  authzConfig: say(Authorization, 'Who may call what.').optional(),
  audit: say(Audit, 'Whether calls are written down.').optional(),
  telemetry: say(Telemetry, 'Traces and metrics of the proxy.').optional(),
  toolConfigRef: say(
    Reference,
    'An MCPToolConfig of this namespace: which tools are offered, and under which names.',
  ).optional(),
  externalAuthConfigRef: say(
    Reference,
    'An MCPExternalAuthConfig in this namespace, which defines the token exchange for the server.',
  ).optional(),
  resources: say(Resources, 'Processor time and memory of the proxy.').optional(),
  resourceOverrides: say(
    ResourceOverrides,
    'What is added to the objects that the operator makes.',
  ).optional(),
};

/** Whose tokens callers have to send. */
export const OidcConfig = say(Oidc, 'Whose tokens callers have to send.');

/** The proxy status that the operator reports. */
export const proxyStatus = {
  message: say(z.string(), 'The reason for the phase, for people.').optional(),
  url: say(z.string(), 'Where clients in the cluster reach the proxy.').optional(),
  toolConfigHash: say(z.string(), 'The hash of the MCPToolConfig in use.').optional(),
  externalAuthConfigHash: say(z.string(), 'The hash of the MCPExternalAuthConfig in use.').optional(),
};
