/**
 * Command lines of the original in other versions than 0.4.2, whose commands and flags all exist here, and how to do the same
 * here. Scripts and pages contain them.
 */

const noSkills =
  'install the skill with your MCP client. For the skills that a server offers, run thv mcp list skills --server NAME';
const noPlugins = 'install the plugin with your MCP client';
const noGateway = 'ToolHive runs MCP servers only. Configure the model gateway in your MCP client';
const registryToken = 'use a registry that needs no sign-in: thv config set-registry URL_OR_PATH';
const mirror = 'set the package registry in ~/.npmrc, or start the daemon with UV_DEFAULT_INDEX or GOPROXY';

/** By the words of the command. */
export const otherCommands: Readonly<Record<string, string>> = {
  'ai-plugin': noPlugins,
  'audit-trifecta': 'to see the access of a workload, run thv permission show NAME',
  'client-setup': 'run thv client setup',
  llm: noGateway,
  optimizer: 'for tool search instead of all tools, run thv group edit GROUP --meta on',
  plugin: noPlugins,
  skill: noSkills,
  skills: noSkills,
  tui: 'run thv ui, or thv top',
  vmcp: 'for one endpoint for all servers of a group, run thv group edit GROUP --endpoint combined',
  'config add-default-server': 'run thv up with a project file',
  'config auto-discovery': 'run thv client setup',
  'config client-setup': 'run thv client setup',
  'config client-status': 'run thv client status',
  'config get-build-auth-file': mirror,
  'config get-build-env': mirror,
  'config get-registry-url': 'run thv config get-registry',
  'config list-registered-clients': 'run thv client list-registered',
  'config register-client': 'run thv client register CLIENT',
  'config remove-client': 'run thv client remove CLIENT',
  'config secrets-provider': 'run thv secret provider NAME',
  'config set-build-auth-file': mirror,
  'config set-build-env': mirror,
  'config set-registry-api': 'run thv config set-registry URL',
  'config set-registry-auth': registryToken,
  'config set-registry-url': 'run thv config set-registry URL',
  'config unset-build-env': mirror,
  'config unset-registry-auth': 'nothing to do, because ToolHive stores no sign-in for registries',
  'config unset-registry-url': 'run thv config unset-registry',
  'config usage-metrics': 'nothing to do, because ToolHive sends no usage metrics',
  'group add': 'run thv run SOURCE --group GROUP',
  'group delete': 'run thv group rm GROUP',
  'mcp check': 'run thv doctor NAME, or thv mcp list --server NAME',
  'registry add': 'run thv config set-registry URL_OR_PATH',
  'registry convert': 'nothing to do, because ToolHive reads both registry formats',
  'registry login': registryToken,
  'registry logout': 'nothing to do, because ToolHive stores no sign-in for registries',
  'registry remove': 'run thv config unset-registry',
  'registry update': 'nothing to do, because ToolHive updates its copy of a remote registry',
  'upgrade apply': 'run thv upgrade NAME --yes',
  'upgrade check': 'run thv outdated',
};

const image = 'ToolHive chooses the base image. For another one, build an image, and run the image';
const token =
  'store Bearer and the token as a secret with thv secret set NAME, and use --remote-forward-headers-secret Authorization=NAME';

/** By the command and the flag. */
export const otherFlags: Readonly<Record<string, string>> = {
  '--version': 'run thv version',
  'build --build-with': 'use --with with thv run',
  'build --runtime-add-package': image,
  'build --runtime-image': image,
  'list --show-tools': 'run thv tools',
  'proxy --remote-auth-bearer-token': 'run thv run URL with --remote-forward-headers-secret instead',
  'proxy --remote-auth-bearer-token-file': 'run thv run URL with --remote-forward-headers-secret instead',
  'proxy --remote-forward-headers': 'run thv run URL with --remote-forward-headers instead',
  'proxy --remote-forward-headers-secret': 'run thv run URL with --remote-forward-headers-secret instead',
  'registry list --refresh': 'omit it, because ToolHive updates its copy of a remote registry',
  'rm --force': 'omit it, because thv rm also removes running workloads',
  'rm -f': 'omit it, because thv rm also removes running workloads',
  'run --allow-docker-gateway':
    'to reach a port of this machine, use --allow-local-port PORT. The server reaches the port at its localhost',
  'run --allowed-origins': 'use --allow-origin ORIGIN for each origin',
  'run --build-with': 'use --with PACKAGE',
  'run --detach': 'omit it, because workloads run in the background',
  'run -d': 'omit it, because workloads run in the background',
  'run --endpoint-prefix': 'use --trust-proxy-headers behind a reverse proxy that sends X-Forwarded-Prefix',
  'run --from-group': 'run thv group run GROUP',
  'run --otel-use-legacy-attributes': 'omit it, because ToolHive sends the current attributes only',
  'run --port': 'use --proxy-port PORT',
  'run --remote-auth-bearer-token': token,
  'run --remote-auth-bearer-token-file': token,
  'run --runtime-add-package': image,
  'run --runtime-image': image,
  'run --session-ttl': 'omit it, because ToolHive chooses the lifetime of sessions',
  'run --stateless': 'omit it, because ToolHive detects stateless servers',
  'run --strict-protocol-validation': 'omit it, because ToolHive always checks the protocol version',
  'run --url': 'use the URL as SOURCE: thv run URL',
  'run --webhook-config': 'use Cedar policies: --authz-config FILE',
  'serve --sentry-dsn': 'omit it, because ToolHive sends no reports',
};
