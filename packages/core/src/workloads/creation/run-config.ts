import { invalid } from '@toolhive/contract/failure';
import { runConfigVersion } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeCapabilities } from '@toolhive/runtime/runtime';
import { ungrantedWishes } from '../../permissions/later-wishes.ts';
import { grantedNetworkOf } from '../../permissions/network.ts';
import { withoutId } from '@toolhive/state/run-configs';
import { withDescription } from './described.ts';
import type { Draft, RequestSettings, RunConfigIdentity, RunConfigSettings } from './draft.ts';
import { withRegistryHosts } from './entry-address.ts';
import { builtInSettings } from './built-in-settings.ts';
import { localSettings } from './local-settings.ts';
import { remoteSettings, requireRemoteSettings } from './remote-settings.ts';
import type { WorkloadSource } from './source.ts';

/** Builds a workload's complete run config. Throws `invalid`. */
export function buildRunConfig(
  draft: Draft,
  source: WorkloadSource,
  { name, port, automatic_port }: Pick<RunConfig, 'name' | 'port' | 'automatic_port'>,
  note: (text: string) => void = () => {},
): RunConfig {
  const identity: RunConfigIdentity = {
    schema_version: runConfigVersion,
    name,
    base_name: name,
    container_name: name,
    host: draft.host,
    port,
    ...(automatic_port === true ? { automatic_port } : {}),
  };
  // First, so that the file begins with it, and last, because an exported run config contains another value.
  return { ...identity, ...settingsFor(draft, source, note), ...identity };
}

function settingsFor(
  { settings: given }: Draft,
  source: WorkloadSource,
  note: (text: string) => void,
): RunConfigSettings {
  const isLearning = given.kind === 'request' && given.request.learn === true;
  if (source.kind === 'local') {
    const completed = (request: RequestSettings): RequestSettings => {
      const { said, ...described } = withDescription(request, source.resolved);
      if (said !== undefined) note(said);
      return { ...request, ...described };
    };
    const settings = given.kind === 'complete' ? given.settings : localSettings(completed(given), source);
    const { instead_of_image: _ofAnotherMachine, isolate_network: isolate, ...own } = ownSettings(settings);
    const { insteadOf } = source.resolved;
    // A run config keeps its wishes, and a request leaves only the findings about them.
    const notGranted = given.kind === 'request' ? ungrantedWishes(given.request) : [];
    return {
      ...own,
      ...(changesIsolation(own, isolate, source.runtime.capabilities) ? { isolate_network: isolate } : {}),
      ...(insteadOf === undefined ? {} : { instead_of_image: insteadOf }),
      ...(notGranted.length === 0 ? {} : { not_granted: notGranted }),
      ...(isLearning ? { learning: { since: new Date().toISOString() } } : {}),
      runtime: source.runtime.name,
    };
  }
  if (source.kind === 'built-in')
    return builtInSettings(given.kind === 'complete' ? ownSettings(given.settings) : given.request, source);
  if (isLearning) {
    throw invalid('a remote server has no learning mode, because its network is not on this machine', {
      hint: 'omit learn (--learn)',
    });
  }
  const settings = ownSettings(
    given.kind === 'complete' ? withoutResource(given.settings) : remoteSettings(given.request, source),
  );
  return requireRemoteSettings(
    withRegistryHosts({ ...settings, remote_url: source.url.href }, source.registryHosts),
  );
}

/** Without a resource indicator, a token is good for other servers too, so only the user chooses one, in a request. */
function withoutResource({ remote_auth_config: auth, ...settings }: RunConfigSettings): RunConfigSettings {
  if (auth === undefined || auth === null) return settings;
  const { resource: _resource, ...rest } = auth;
  return { ...settings, remote_auth_config: rest };
}

/**
 * A run config does not begin learning mode, in which a server reaches more than its profile says, stores no consent,
 * contains no findings about another request, and does not choose an ID, to which the trust of another workload belongs.
 */
function ownSettings(given: RunConfigSettings): RunConfigSettings {
  const {
    learning: _learning,
    learned: _learned,
    accepted_risks: _accepted,
    not_granted: _found,
    automatic_port: _chosen,
    ...settings
  } = given;
  return withoutId(settings);
}

/**
 * Whether a request for or against network isolation changes the profile's result. Only then is it stored. Isolation
 * is the default, but only a container with explicit isolation is refused if isolation is impossible.
 */
function changesIsolation(
  { permission_profile }: RunConfigSettings,
  isolate: boolean | undefined,
  { recordsIsolation }: RuntimeCapabilities,
): boolean {
  if (isolate === undefined || grantedNetworkOf({ permission_profile }).kind !== 'rules') return false;
  return !isolate || recordsIsolation;
}
