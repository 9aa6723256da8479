import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Description, Resolved } from '@toolhive/registry/registry';
import type { RequestSettings } from './draft.ts';
import { entryPermissions } from '@toolhive/registry/entry-permissions';

/** A request for a package, completed from the registry entry that describes the package. */
export interface Described {
  request: CreateWorkload;
  /** What the entry contributed, for the user. Undefined if nothing. */
  said?: string;
}

/**
 * Completes a request for a package with the defaults of its registry entry. The user has named the package and not
 * the entry, so an entry of a registry that others write contributes nothing that gives the server more access, or
 * sends its credentials elsewhere. See decision 65.
 */
export function withDescription(
  { request, defaultProfile }: RequestSettings,
  { described }: Resolved,
): Described {
  if (described === undefined) return { request };
  const { entry, isBuiltIn } = described;
  const variables = variablesOf(request, described);
  const args = argumentsOf(request, described);
  const profile = profileOf(request, described, defaultProfile);
  const sessions = (request.sessions ?? 'auto') === 'auto' ? entry.sessions : undefined;
  const transport = isTransportKept(request, described, args) ? undefined : entry.transport;
  const scripts = isBuiltIn && !request.allow_scripts?.length ? entry.package?.allow_scripts : undefined;
  const parts = [
    ...Object.keys(variables),
    ...(args.length > 0 ? ['arguments'] : []),
    ...(profile === undefined ? [] : ['network rules']),
    ...(sessions === undefined ? [] : [`${sessions} sessions`]),
    ...(transport === undefined ? [] : [`the transport ${transport}`]),
    ...(scripts?.length ? ['install scripts'] : []),
  ];
  if (parts.length === 0) return { request };
  return {
    request: {
      ...request,
      env_vars: { ...variables, ...request.env_vars },
      ...(args.length > 0 ? { cmd_arguments: args } : {}),
      ...(profile === undefined ? {} : { permission_profile: profile }),
      ...(sessions === undefined ? {} : { sessions }),
      ...(transport === undefined
        ? {}
        : { transport, target_port: request.target_port || entry.target_port }),
      ...(scripts?.length ? { allow_scripts: scripts } : {}),
    },
    said: `ToolHive uses the settings of the registry entry ${entry.name}: ${parts.join(', ')}`,
  };
}

/** The entry's defaults that the request leaves open. */
function variablesOf(
  { env_vars: given, secrets }: CreateWorkload,
  { entry, isBuiltIn }: Description,
): Record<string, string> {
  const taken = new Set([...Object.keys(given ?? {}), ...(secrets ?? []).map(({ target }) => target)]);
  return Object.fromEntries(
    (entry.env_vars ?? []).flatMap(({ name, default: value = '' }) =>
      value === '' || taken.has(name) || !(isBuiltIn || isInert(name, value)) ? [] : [[name, value]],
    ),
  );
}

/**
 * Whether a default of a foreign entry changes neither the destination of the server's requests, nor its program, nor
 * its protections. A host has a dot or a colon, and only paths in the private home directory are accepted.
 */
function isInert(name: string, value: string): boolean {
  if (redirecting.test(name) || unprotecting.test(name) || isSwitch.test(value)) return false;
  return /^[\w-]{0,64}$/.test(value) || /^\/home\/server\/[\w-]+(?:\.\w+)?$/.test(value);
}

const redirecting =
  /^(?:LD_|DYLD_|NODE_|NPM_|PYTHON|UV_|PIP_|GO|PATH$|HOME$|BASH_ENV$|ENV$|SSL_|CURL_|GIT_)|PROXY|URL|URI|HOST|ENDPOINT|ORIGIN|SERVER|DOMAIN|ADDRESS|BASE|CERT|COMMAND|CMD|EXEC|HOOK|PLUGIN|CONFIG|MODULE|SCRIPT|REQUIRE|IMPORT/i;
const unprotecting =
  /READ_?ONLY|WRITE|ALLOW|DENY|DISABLE|ENABLE|SAFE|DANGER|AUTH|VERIFY|TLS|PERMISSION|ROLE|SCOPE|TOOL|KEY|TOKEN|SECRET|PASSW/i;
/** A switch can turn a protection off under any name. */
const isSwitch = /^(?:true|false|yes|no|on|off|[01]|all|any|none|full)$/i;

/**
 * Whether the server has the requested transport, or stdio. An entry's arguments can choose its transport, which
 * then does not fit other arguments, unless they name the port: `npx @playwright/mcp --headless` uses stdio.
 */
function isTransportKept(
  { transport, target_port: target, cmd_arguments: given }: CreateWorkload,
  { entry, sourceArgs }: Description,
  args: readonly string[],
): boolean {
  if (transport || entry.transport === 'stdio') return true;
  const port = String(target || entry.target_port);
  const isPortNamed = given?.some((word) => word === port || word.endsWith(`=${port}`)) === true;
  return sourceArgs.length + (entry.args ?? []).length > 0 && args.length === 0 && !isPortNamed;
}

/** Arguments can redirect a server as well, so only ToolHive's own entries contribute them. */
function argumentsOf(
  { cmd_arguments: given }: CreateWorkload,
  { entry, isBuiltIn, sourceArgs }: Description,
): string[] {
  return isBuiltIn && !given?.length ? [...sourceArgs, ...(entry.args ?? [])] : [];
}

/** The entry's network rules, if the user's default allows every public host and the rules allow less. */
function profileOf(
  { permission_profile: asked, network_mode: mode }: CreateWorkload,
  { entry, isBuiltIn }: Description,
  defaultProfile: RequestSettings['defaultProfile'],
): PermissionProfile | undefined {
  if (asked || mode || entry.permissions === undefined || defaultProfile() !== builtInProfiles.public)
    return undefined;
  if (!isBuiltIn && !isNarrow(entry.permissions)) return undefined;
  const profile = entryPermissions(entry);
  return profile?.network?.outbound?.allow_host === undefined && !isClosed(profile) ? undefined : profile;
}

function isClosed(profile: PermissionProfile | undefined): boolean {
  return Object.keys(profile?.network?.outbound ?? { any: true }).length === 0;
}

/** Whether a profile has nothing but rules for public hosts on the ports of the web. */
function isNarrow({ network, read, write, privileged }: PermissionProfile): boolean {
  const { outbound, inbound, mode } = network ?? {};
  const webPorts = builtInProfiles.public.network.outbound.allow_port;
  const hosts = outbound?.allow_host ?? [];
  return (
    outbound !== undefined &&
    outbound.insecure_allow_all !== true &&
    (outbound.allow_port ?? []).every((port) => webPorts.includes(port)) &&
    hosts.every((host) => /^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}$/i.test(host)) &&
    ![read, write].some((mounts) => mounts?.length) &&
    privileged !== true &&
    !mode &&
    !inbound?.allow_host?.length
  );
}
