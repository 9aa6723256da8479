import { checkField, invalid } from '@toolhive/contract/failure';
import type { BuiltInServerName } from '@toolhive/contract/names';
import type { Registry, RegistryRemoteServer } from '@toolhive/contract/registry';
import type { PackageLock, PrepareOptions, Progress, Runtime } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import type { StateWing } from '../../wings/state.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import { entryNamed } from '@toolhive/registry/mcp-registry-name';
import { packageNote } from '@toolhive/registry/registry';
import type { Resolved } from '@toolhive/registry/registry';
import type { Draft } from './draft.ts';
import { refusePrivateEntry } from './entry-address.ts';
import { deriveName, nameOfBundle, nameOfHost } from '@toolhive/registry/derive-name';
import { obtainBundle } from './bundle.ts';
import type { ObtainedBundle } from './bundle.ts';
import { trustedFor } from './trust.ts';
import { filledUrl } from './url-variables.ts';

/** Where the server of a workload comes from. */
export type WorkloadSource = LocalSource | RemoteSource | BuiltInSource;

/** A server that is a part of the daemon. */
export interface BuiltInSource {
  kind: 'built-in';
  server: BuiltInServerName;
  defaultName: string;
}

/** A package or an image that ToolHive runs. */
export interface LocalSource {
  kind: 'local';
  runtime: Runtime;
  resolved: Resolved;
  /** The bundle, if the server is one. */
  bundle?: ObtainedBundle;
  /** The certificate authorities to trust during the installation. */
  trusted: PrepareOptions['trusted'];
  /** The workload name if none is requested. */
  defaultName: string;
}

/** A server that someone else runs. */
export interface RemoteSource {
  kind: 'remote';
  url: URL;
  /** The registry entry that was named instead of the URL. */
  entry?: RegistryRemoteServer & { name: string };
  /** The hosts that the entry names, unless the registry is trusted. */
  registryHosts?: readonly string[];
  defaultName: string;
}

/** Resolves a draft's server: a remote server, or the registry's and runtime's interpretation of its image. */
export async function findSource(
  core: StateWing & SupplyWing,
  draft: Draft,
  call: { report: Progress; signal: AbortSignal; isNew: boolean; lock?: PackageLock | undefined },
): Promise<WorkloadSource> {
  if (draft.builtIn !== undefined) return builtInOf(draft, draft.builtIn);
  const registry = await core.registry.catalogueFor(draft.image ?? '', draft.registryGroup);
  const remote = await checkField(urlField(draft), () => remoteOf(registry, draft));
  if (remote === undefined) return checkField('/image', () => resolveLocal(core, draft, call));
  trustedFor(core.settings, draft.caCertificate, undefined); // throws if a certificate is requested
  const registryHosts = await refusePrivateEntry(remote, draft, core.settings.current, core.lookup);
  return { ...remote, registryHosts };
}

function urlField({ settings }: Draft): string {
  return settings.kind === 'request' ? '/url' : '/remote_url';
}

/** The name decides, whatever a registry says: a registry must not replace a part of the daemon. */
function builtInOf({ remoteUrl }: Draft, server: BuiltInServerName): BuiltInSource {
  if (remoteUrl !== undefined)
    throw invalid(`${server} is built in and has no URL`, { hint: 'omit the image or the URL' });
  return { kind: 'built-in', server, defaultName: server };
}

async function resolveLocal(
  core: StateWing & SupplyWing,
  { image, registryGroup, caCertificate }: Draft,
  { report, signal, isNew, lock }: Parameters<typeof findSource>[2],
): Promise<LocalSource> {
  if (image === undefined) {
    throw invalid('nothing to run', {
      hint: 'set image to a registry entry, an image, or a package, or set url to the URL of a remote server',
    });
  }
  const usual = await core.runtimes.choose(signal);
  const { described, ...found } = await core.registry.resolve(image, usual.capabilities, registryGroup);
  if (lock !== undefined) found.source = lock.pin(found.source);
  const trusted = trustedFor(core.settings, caCertificate, found.source);
  if (found.source.kind === 'bundle') {
    const runtime = await core.runtimes.chooseForBundles(signal);
    const bundle = await obtainBundle(core, found.source, { report, signal, trusted });
    const { name } = bundle.manifest;
    const resolved: Resolved = { ...found, source: bundle.source };
    return {
      kind: 'local',
      runtime,
      resolved,
      bundle,
      trusted,
      defaultName: found.entry?.name ?? nameOfBundle(name),
    };
  }
  // An edited workload has all settings, and its user may have removed one.
  const resolved: Resolved = isNew && described !== undefined ? { ...found, described } : found;
  if (resolved.insteadOf !== undefined)
    report(packageNote(formatSource(resolved.source), resolved.insteadOf));
  return {
    kind: 'local',
    runtime: usual,
    resolved,
    trusted,
    defaultName: deriveName(resolved.source, resolved.entry?.name),
  };
}

/** The remote server that a draft names: by its URL, or by the name of a registry entry. */
function remoteOf(
  registry: Registry,
  { image = '', remoteUrl, urlVariables }: Draft,
): RemoteSource | undefined {
  const name = entryNamed(registry, image);
  if (remoteUrl !== undefined) {
    if (name !== '') throw invalid('image and url cannot be used together');
    const url = checkedUrl(remoteUrl);
    return { kind: 'remote', url, defaultName: nameOfHost(url) };
  }
  const entry = Object.hasOwn(registry.remote_servers, name) ? registry.remote_servers[name] : undefined;
  if (entry === undefined || Object.hasOwn(registry.servers, name)) return undefined;
  const url = checkedUrl(filledUrl({ ...entry, name }, urlVariables));
  return { kind: 'remote', url, entry: { ...entry, name }, defaultName: name };
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (
    url === null ||
    (url.protocol !== 'https:' && url.protocol !== 'http:') ||
    url.username ||
    url.password
  ) {
    // The text may contain a password, so only text without one is repeated.
    const named = /[@?]/.test(text) ? 'this' : JSON.stringify(text);
    throw invalid(`${named} is not the URL of a remote server`, {
      hint: 'use an http or https URL without a user name and a password, which belong in headers',
    });
  }
  url.hash = '';
  return url;
}
