import { describeResource, resourceNames, resourceRules } from '@toolhive/contract/resources';
import type { ResourceName } from '@toolhive/contract/resources';
import type { Flag } from '../../command.ts';
import { inSection, oidcFlags, remoteAuthFlags, resourceUrl, tokenExchangeFlags } from '../flags.ts';

/** What to do with the credentials in a pasted command or configuration. `run` and `import` take it. */
export const storeSecrets: Flag = {
  name: 'store-secrets',
  kind: 'boolean',
  description: 'Store pasted credentials as secrets without asking',
};

function resourceFlag(name: ResourceName): Flag {
  const { flag, unit, summary, default: amount } = resourceRules[name];
  return {
    name: flag,
    kind: 'string',
    value: unit === 'bytes' ? 'SIZE' : 'NUMBER',
    description: `Limit on ${summary}; ${describeResource(name, amount)} by default`,
  };
}

/** Everything that `thv run` takes. `request.ts` says what becomes of each. */
export const runFlags: readonly Flag[] = [
  {
    name: 'name',
    kind: 'string',
    value: 'NAME',
    description: 'The name of the workload; derived from SOURCE when absent',
  },
  {
    name: 'group',
    kind: 'string',
    value: 'GROUP',
    description: 'The group of the workload',
    default: 'default',
    completes: 'group',
  },
  {
    name: 'label',
    shorthand: 'l',
    kind: 'list',
    value: 'KEY=VALUE',
    description: 'A label, to find the workload by',
  },
  {
    name: 'dry-run',
    kind: 'boolean',
    description: 'Show what the server could access, and run nothing',
  },
  {
    name: 'foreground',
    shorthand: 'f',
    kind: 'boolean',
    description: 'Stay and show what the server writes; Ctrl-C removes the workload',
  },
  {
    name: 'from-config',
    kind: 'string',
    value: 'FILE',
    description: 'Run what `thv export` has written, instead of SOURCE and other flags',
    completes: 'file',
  },
  ...inSection('Server', [
    {
      name: 'transport',
      kind: 'string',
      value: 'KIND',
      choices: ['stdio', 'sse', 'streamable-http'],
      description: 'How the server talks; the registry knows, else stdio',
    },
    {
      name: 'env',
      shorthand: 'e',
      kind: 'list',
      value: 'NAME=VALUE',
      description: 'An environment variable for the server',
    },
    {
      name: 'env-file',
      kind: 'string',
      value: 'FILE',
      description: 'A file of environment variables, one NAME=VALUE a line; --env counts more',
      completes: 'file',
    },
    {
      name: 'env-file-dir',
      kind: 'string',
      value: 'FOLDER',
      description: 'A folder of such files; --env-file counts more',
      completes: 'folder',
    },
    {
      name: 'secret',
      kind: 'list',
      value: 'NAME,target=VARIABLE',
      description: 'A stored secret for the server, and the variable that receives it',
      completes: 'secret',
    },
    storeSecrets,
    {
      name: 'target-port',
      kind: 'integer',
      value: 'PORT',
      description: 'The port that an HTTP server listens on; 0 is what the registry says',
      default: 0,
    },
    {
      name: 'target-host',
      kind: 'string',
      value: 'HOST',
      description: 'Where an HTTP server listens',
      default: '127.0.0.1',
    },
    {
      name: 'ca-cert',
      kind: 'string',
      value: 'FILE',
      description: 'A certificate authority to trust while a package is made ready',
      completes: 'file',
    },
    {
      name: 'with',
      kind: 'list',
      value: 'PACKAGE',
      description: 'A further Python package for a uvx:// server, for example mcp<2',
    },
    {
      name: 'python',
      kind: 'string',
      value: 'VERSION',
      description: 'The Python version of a uvx:// server, for example 3.12',
    },
    {
      name: 'allow-scripts',
      kind: 'list',
      value: 'PACKAGE',
      description:
        'An npm package whose install scripts run, in a sandbox that reaches only the package registry',
    },
    {
      name: 'image-verification',
      kind: 'string',
      value: 'MODE',
      choices: ['warn', 'enabled', 'disabled'],
      description:
        'What to do about an image from the registry whose signature is missing or wrong: note it, refuse it, or do not look',
      default: 'warn',
    },
    {
      name: 'k8s-pod-patch',
      kind: 'string',
      value: 'JSON',
      description: 'What to change about the pod',
      hidden: true,
    },
  ]),
  ...inSection('Permissions', [
    {
      name: 'volume',
      shorthand: 'v',
      kind: 'list',
      value: 'HOST:CONTAINER[:ro]',
      description: 'A file or folder to share with the server',
      completes: 'file',
    },
    {
      name: 'ephemeral',
      kind: 'boolean',
      description:
        'Delete the home directory of the server when it stops. Without this flag, it is kept until you remove the workload',
    },
    {
      name: 'permission-profile',
      kind: 'string',
      value: 'PROFILE',
      description: 'none, public, network, or a JSON file; the registry knows, else public',
      completes: 'file',
    },
    {
      name: 'network',
      kind: 'string',
      value: 'MODE',
      description: 'A network of the container engine, or none; instead of that of the profile',
    },
    {
      name: 'isolate-network',
      kind: 'boolean',
      description:
        'Enforce the hosts and ports of the profile, as is done anyway; with =false, the server reaches everything',
    },
    {
      name: 'accept-risks',
      kind: 'boolean',
      description:
        'Give the server dangerous access without asking, for example a mount of a home directory or the network of this machine',
    },
    {
      name: 'learn',
      kind: 'boolean',
      description:
        'Allow every public host and record which ones the server uses; `thv learn NAME --stop` makes a profile of them',
    },
    {
      name: 'ignore-globally',
      kind: 'boolean',
      description: 'Hide the files that your global ignore file names, in every mounted directory',
      default: true,
    },
    {
      name: 'print-resolved-overlays',
      kind: 'boolean',
      description: 'List the files that ignore files hide from the server',
    },
  ]),
  ...inSection('Resources', resourceNames.map(resourceFlag)),
  ...inSection('Proxy', [
    {
      name: 'host',
      kind: 'string',
      value: 'ADDRESS',
      description: 'The address that the proxy binds to',
      default: '127.0.0.1',
    },
    {
      name: 'insecure-no-auth',
      kind: 'boolean',
      description:
        'Let other machines use the workload without authentication, with a --host beyond this machine',
    },
    {
      name: 'proxy-port',
      kind: 'integer',
      value: 'PORT',
      description: 'The port of the proxy; 0 is any free one',
      default: 0,
    },
    {
      name: 'proxy-mode',
      kind: 'string',
      value: 'MODE',
      choices: ['sse', 'streamable-http'],
      description: 'The endpoint in the workload URL; the proxy serves both',
      default: 'streamable-http',
    },
    {
      name: 'sessions',
      kind: 'string',
      value: 'KIND',
      choices: ['own', 'shared'],
      description: 'Whether each client has a server process of its own; the registry knows, else own',
    },
    {
      name: 'tools',
      kind: 'list',
      value: 'NAME',
      description: 'A tool that clients may see, and no others than those that are named',
    },
    {
      name: 'tools-override',
      kind: 'string',
      value: 'FILE',
      description: 'A JSON file that gives tools other names and descriptions',
      completes: 'file',
    },
    {
      name: 'tool-pinning',
      kind: 'string',
      value: 'MODE',
      choices: ['warn', 'block', 'off'],
      description:
        'Report changed tools of the server (warn), hold them back until you approve them (block), or neither; warn if not given',
    },
    {
      name: 'trust-proxy-headers',
      kind: 'boolean',
      description: 'Trust the X-Forwarded-* headers of a reverse proxy in front, which all requests pass',
    },
    {
      name: 'authz-config',
      kind: 'string',
      value: 'FILE',
      description: 'A JSON or YAML file of Cedar policies: who may use which tools, prompts, and resources',
      completes: 'file',
    },
    { name: 'enable-audit', kind: 'boolean', description: 'Record every call in the audit log' },
    {
      name: 'audit-config',
      kind: 'string',
      value: 'FILE',
      description: 'A JSON file with the audit configuration: event types, bodies, and the log file',
      completes: 'file',
    },
  ]),
  ...oidcFlags,
  resourceUrl,
  ...inSection('Client authentication', [
    {
      name: 'oidc-scopes',
      kind: 'words',
      value: 'SCOPE',
      description: 'The scopes that every token must have',
    },
    {
      name: 'jwks-auth-token-file',
      kind: 'string',
      value: 'FILE',
      description: 'A file with the bearer token that is sent when the keys of the provider are read',
      completes: 'file',
    },
    {
      name: 'jwks-allow-private-ip',
      kind: 'boolean',
      description: 'The provider may have an address of a private network',
    },
    {
      name: 'oidc-insecure-allow-http',
      kind: 'boolean',
      description: 'The provider may be reached over plain http',
    },
    {
      name: 'thv-ca-bundle',
      kind: 'string',
      value: 'FILE',
      description: 'Certificate authorities to trust when the provider is asked',
      completes: 'file',
    },
  ]),
  ...tokenExchangeFlags,
  ...remoteAuthFlags,
  ...inSection('Telemetry', [
    {
      name: 'otel-endpoint',
      kind: 'string',
      value: 'HOST:PORT',
      description: 'The OpenTelemetry collector to send to (OTLP over HTTP)',
    },
    {
      name: 'otel-service-name',
      kind: 'string',
      value: 'NAME',
      description: 'The service name in traces and metrics',
    },
    {
      name: 'otel-tracing-enabled',
      kind: 'boolean',
      description: 'Send traces',
      default: true,
    },
    { name: 'otel-metrics-enabled', kind: 'boolean', description: 'Send metrics', default: true },
    {
      name: 'otel-sampling-rate',
      kind: 'number',
      value: 'RATE',
      description: 'The share of traces to send, from 0.0 to 1.0',
      default: 0.1,
    },
    {
      name: 'otel-headers',
      kind: 'list',
      value: 'NAME=VALUE',
      description: 'A header for the collector',
    },
    { name: 'otel-insecure', kind: 'boolean', description: 'Use plain http instead of https' },
    {
      name: 'otel-enable-prometheus-metrics-path',
      kind: 'boolean',
      description: 'Let Prometheus fetch metrics from /metrics on the port of the proxy',
    },
    {
      name: 'otel-env-vars',
      kind: 'list',
      value: 'NAME',
      description: 'An environment variable of the daemon to include in traces',
    },
    {
      name: 'otel-custom-attributes',
      kind: 'string',
      value: 'NAME=VALUE,…',
      description: 'Further attributes of all traces and metrics',
    },
  ]),
];
