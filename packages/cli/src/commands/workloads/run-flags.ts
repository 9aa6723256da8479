import { describeResource, resourceNames, resourceRules } from '@toolhive/contract/resources';
import type { ResourceName } from '@toolhive/contract/resources';
import type { Flag } from '../../command.ts';
import { inSection, oidcFlags, remoteAuthFlags, resourceUrl, tokenExchangeFlags } from '../flags.ts';

/** How to handle the credentials in a pasted command or configuration. `run` and `import` take this flag. */
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
    description: `Limit on ${summary}. The default is ${describeResource(name, amount)}`,
  };
}

/** The flags of `thv run`. `request.ts` defines their effects. */
export const runFlags: readonly Flag[] = [
  {
    name: 'name',
    kind: 'string',
    value: 'NAME',
    description: 'The workload name. By default, derived from SOURCE',
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
    description: 'A label for the workload',
  },
  {
    name: 'dry-run',
    kind: 'boolean',
    description: "Show the server's access without running the server",
  },
  {
    name: 'foreground',
    shorthand: 'f',
    kind: 'boolean',
    description: "Stay attached and show the server's output. Ctrl-C removes the workload",
  },
  {
    name: 'from-config',
    kind: 'string',
    value: 'FILE',
    description: 'Run an exported run config instead of SOURCE and other flags',
    completes: 'file',
  },
  ...inSection('Server', [
    {
      name: 'transport',
      kind: 'string',
      value: 'KIND',
      choices: ['stdio', 'sse', 'streamable-http'],
      description: "The server's transport. By default, the registry entry's, or else stdio",
    },
    {
      name: 'env',
      shorthand: 'e',
      kind: 'list',
      value: 'NAME=VALUE',
      description: 'An environment variable for the server',
    },
    {
      name: 'url-variable',
      kind: 'list',
      value: 'NAME=VALUE',
      description: 'A variable in the URL of a remote registry entry',
    },
    {
      name: 'env-file',
      kind: 'string',
      value: 'FILE',
      description: 'A file of environment variables, one NAME=VALUE per line. --env has precedence',
      completes: 'file',
    },
    {
      name: 'env-file-dir',
      kind: 'string',
      value: 'FOLDER',
      description: 'A directory with environment files. --env-file has precedence',
      completes: 'folder',
    },
    {
      name: 'secret',
      kind: 'list',
      value: 'NAME,target=VARIABLE',
      description: 'A stored secret for the server, and the environment variable that receives it',
      completes: 'secret',
    },
    {
      name: 'config',
      kind: 'list',
      value: 'KEY=VALUE',
      description:
        'A value that a bundle asks for. The server can use the path of a directory or file, read-only with :ro at the end',
    },
    storeSecrets,
    {
      name: 'target-port',
      kind: 'integer',
      value: 'PORT',
      description: "The port that an HTTP server listens on. 0 uses the registry entry's",
      default: 0,
    },
    {
      name: 'target-host',
      kind: 'string',
      value: 'HOST',
      description: 'The host that an HTTP server listens on',
      default: '127.0.0.1',
    },
    {
      name: 'ca-cert',
      kind: 'string',
      value: 'FILE',
      description: 'An additional certificate authority for package downloads',
      completes: 'file',
    },
    {
      name: 'with',
      kind: 'list',
      value: 'PACKAGE',
      description: 'An additional Python package for a uvx:// server, for example mcp<2',
    },
    {
      name: 'python',
      kind: 'string',
      value: 'VERSION',
      description: 'The Python version of a uvx:// server or a bundle, for example 3.12',
    },
    {
      name: 'exclude-newer',
      kind: 'string',
      value: 'DATE',
      description: 'Only Python packages from before the end of this day, for an older uvx:// server',
    },
    {
      name: 'prerelease',
      kind: 'string',
      value: 'MODE',
      choices: ['allow', 'disallow', 'if-necessary', 'explicit', 'if-necessary-or-explicit'],
      description: 'Which pre-releases of Python packages a uvx:// server can have',
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
        'What to do about a registry image with a missing or invalid signature: warn, refuse it, or skip the check',
      default: 'warn',
    },
    {
      name: 'k8s-pod-patch',
      kind: 'string',
      value: 'JSON',
      description:
        'A patch for the pod template in Kubernetes, as JSON. thv export --format k8s writes the patch',
      hidden: true,
    },
  ]),
  ...inSection('Permissions', [
    {
      name: 'volume',
      shorthand: 'v',
      kind: 'list',
      value: 'HOST:CONTAINER[:ro]',
      description: 'A file or directory to mount, as SOURCE:TARGET[:ro]',
      completes: 'file',
    },
    {
      name: 'ephemeral',
      kind: 'boolean',
      description:
        "Delete the server's home directory when it stops. Without this flag, ToolHive keeps it until you remove the workload",
    },
    {
      name: 'permission-profile',
      kind: 'string',
      value: 'PROFILE',
      description: "none, public, network, or a JSON file. By default, the registry entry's, or else public",
      completes: 'file',
    },
    {
      name: 'network',
      kind: 'string',
      value: 'MODE',
      description: 'A network of the container engine, or none. Overrides the profile',
    },
    {
      name: 'allow-local-port',
      kind: 'list',
      value: 'PORT',
      description:
        'A TCP port of this machine that the server reaches at its localhost, for example of a database',
    },
    {
      name: 'publish',
      shorthand: 'p',
      kind: 'list',
      value: 'PORT[:SERVER_PORT]',
      description:
        'A server port that local programs and browsers reach, for example a browser that returns from a sign-in page',
    },
    {
      name: 'isolate-network',
      kind: 'boolean',
      description:
        "Enforce the profile's hosts and ports, which is the default. With =false, the server reaches every host",
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
        'Allow every public host and record the hosts that the server uses. Create a profile with `thv learn NAME --stop`',
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
      description: 'The proxy port. 0 selects a free port',
      default: 0,
    },
    {
      name: 'proxy-mode',
      kind: 'string',
      value: 'MODE',
      choices: ['sse', 'streamable-http'],
      description: 'The endpoint in the workload URL. The proxy serves both',
      default: 'streamable-http',
    },
    {
      name: 'sessions',
      kind: 'string',
      value: 'KIND',
      choices: ['auto', 'own', 'shared'],
      description:
        "Whether each client session has a separate server process. By default, the registry entry's value, or else auto, which shares processes if the server keeps nothing for a session",
    },
    {
      name: 'tools',
      kind: 'list',
      value: 'NAME',
      description: 'A tool that clients can use. All other tools are hidden',
    },
    {
      name: 'tools-override',
      kind: 'string',
      value: 'FILE',
      description: 'A JSON file with other names and descriptions for tools',
      completes: 'file',
    },
    {
      name: 'tool-pinning',
      kind: 'string',
      value: 'MODE',
      choices: ['warn', 'block', 'off'],
      description:
        'What to do about changed tools: report them (warn, the default), hold them back until you approve them (block), or nothing (off)',
    },
    {
      name: 'trust-proxy-headers',
      kind: 'boolean',
      description: 'Trust the X-Forwarded-* headers. Use only behind a reverse proxy that all requests pass',
    },
    {
      name: 'allow-origin',
      kind: 'list',
      value: 'ORIGIN',
      description:
        'Let web pages with this origin use the server from a browser (CORS), for example http://localhost:6274',
    },
    {
      name: 'authz-config',
      kind: 'string',
      value: 'FILE',
      description: 'A JSON or YAML file with Cedar policies for tools, prompts, and resources',
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
      description: 'The required scopes of tokens',
    },
    {
      name: 'jwks-auth-token-file',
      kind: 'string',
      value: 'FILE',
      description: 'A file with the bearer token for requests to the signing keys',
      completes: 'file',
    },
    {
      name: 'jwks-allow-private-ip',
      kind: 'boolean',
      description: 'Allow the provider to have an address in a private network',
    },
    {
      name: 'oidc-insecure-allow-http',
      kind: 'boolean',
      description: 'Allow plain http for requests to the provider',
    },
    {
      name: 'thv-ca-bundle',
      kind: 'string',
      value: 'FILE',
      description: 'A file with CA certificates for requests to the provider',
      completes: 'file',
    },
  ]),
  ...tokenExchangeFlags,
  ...remoteAuthFlags,
  ...inSection('Remote authentication', [
    {
      name: 'remote-forward-headers',
      kind: 'list',
      value: 'HEADER=VALUE',
      description: 'A header for every request to a remote server',
    },
    {
      name: 'remote-forward-headers-secret',
      kind: 'list',
      value: 'HEADER=SECRET',
      description: 'A header for every request to a remote server, and the stored secret with its value',
    },
  ]),
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
      description: 'Serve Prometheus metrics at /metrics on the proxy port',
    },
    {
      name: 'otel-env-vars',
      kind: 'list',
      value: 'NAME',
      description: 'A daemon environment variable to include in traces',
    },
    {
      name: 'otel-custom-attributes',
      kind: 'string',
      value: 'NAME=VALUE,…',
      description: 'Additional attributes of all traces and metrics',
    },
  ]),
];
