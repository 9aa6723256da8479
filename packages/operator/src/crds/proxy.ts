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
  audience: say(z.string(), 'Whom tokens must be meant for.').optional(),
  clientId: say(z.string(), 'As whom the proxy looks up tokens that are no JWTs.').optional(),
  clientSecret: say(z.string(), 'The secret of that client. Everybody who may read the resource sees it.')
    .optional(), // prettier-ignore
  jwksUrl: say(z.string(), 'Where the keys of the provider are; the issuer knows.').optional(),
  introspectionUrl: say(z.string(), 'Where tokens that are no JWTs are looked up.').optional(),
  thvCABundlePath: say(z.string(), 'Certificate authorities to trust when the provider is asked.').optional(),
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
      audience: say(z.string().default('toolhive'), 'Whom tokens must be meant for.'),
      serviceAccount: say(z.string(), 'The service account of callers.').optional(),
      namespace: say(z.string(), 'The namespace of that service account.').optional(),
      jwksUrl: say(z.string(), 'Where the keys of the cluster are; the issuer knows.').optional(),
      introspectionUrl: say(z.string(), 'Where tokens are looked up.').optional(),
      useClusterAuth: say(
        z.boolean(),
        'Ask the cluster for its keys with its own certificate authority and the token of the pod; so unless it is false.',
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
      serviceName: say(z.string(), 'As whom to report; the name of the resource when absent.').optional(),
      headers: say(z.array(z.string()), 'Headers for whoever collects them, as NAME=VALUE.').optional(),
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
    z.object({ enabled: say(off, 'Let Prometheus fetch metrics from `/metrics` on the port of the proxy.') }),
    'What others fetch.',
  ).optional(),
});

const Amounts = z.object({
  cpu: say(z.string(), 'Processor time, such as `500m`.').optional(),
  memory: say(z.string(), 'Memory, such as `128Mi`.').optional(),
});

const Resources = z.object({
  limits: say(Amounts, 'The most that it gets.').optional(),
  requests: say(Amounts, 'What is set aside for it.').optional(),
});

const labels = say(Texts, 'Labels to add.').optional();
const annotations = say(Texts, 'Annotations to add.').optional();

const ResourceOverrides = z.object({
  proxyDeployment: say(
    z.object({
      labels,
      annotations,
      env: say(z.array(Variable), 'Environment variables of the proxy.').optional(),
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

/** What is said of a proxy, whatever stands behind it. */
export const proxySpec = {
  port: say(PortNumber.default(8080), 'The port that clients reach the proxy on.'),
  trustProxyHeaders: say(off, 'Believe what a reverse proxy in front says about itself (`X-Forwarded-*`).'),
  authzConfig: say(Authorization, 'Who may call what.').optional(),
  audit: say(Audit, 'Whether calls are written down.').optional(),
  telemetry: say(Telemetry, 'Traces and metrics of the proxy.').optional(),
  toolConfigRef: say(
    Reference,
    'An MCPToolConfig of this namespace: which tools are offered, and under which names.',
  ).optional(),
  externalAuthConfigRef: say(
    Reference,
    'An MCPExternalAuthConfig of this namespace: which token goes on to the server.',
  ).optional(),
  resources: say(Resources, 'Processor time and memory of the proxy.').optional(),
  resourceOverrides: say(
    ResourceOverrides,
    'What is added to the objects that the operator makes.',
  ).optional(),
};

/** Whose tokens callers have to send. */
export const OidcConfig = say(Oidc, 'Whose tokens callers have to send.');

/** What the operator tells of a proxy. */
export const proxyStatus = {
  message: say(z.string(), 'Why the phase is what it is, for a person.').optional(),
  url: say(z.string(), 'Where clients in the cluster reach the proxy.').optional(),
  toolConfigHash: say(z.string(), 'The hash of the MCPToolConfig in use.').optional(),
  externalAuthConfigHash: say(z.string(), 'The hash of the MCPExternalAuthConfig in use.').optional(),
};
