import { conflict } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { WorkloadUpdate } from '@toolhive/contract/update';
import { parseReference } from '@toolhive/secrets/reference';
import type { PrepareOptions } from '@toolhive/runtime/runtime';
import type { BundleSource } from '@toolhive/runtime/source';
import type { StateWing } from '../../wings/state.ts';
import type { SupplyWing } from '../../wings/supply.ts';
import { bundleConfig, obtainBundle } from '../creation/bundle.ts';
import { trustedFor } from '../creation/trust.ts';

type Call = Pick<PrepareOptions, 'report' | 'signal'>;

/** Compares the content that a workload runs with the present content of the file. Runs nothing. */
export async function findBundleUpdate(
  core: StateWing & SupplyWing,
  name: string,
  source: BundleSource,
  call: Call,
): Promise<Pick<WorkloadUpdate, 'current' | 'newest' | 'outdated' | 'young'>> {
  if (!source.name.startsWith('/')) {
    // A web server or a registry could choose the newest content.
    throw conflict(`${name} runs a bundle from a web server, which has no versions`, {
      hint: 'to run the present content, remove the workload, and run the URL again',
    });
  }
  const { version: current = '', ...unversioned } = source;
  const { version: newest = '' } = (await obtainBundle(core, unversioned, callFor(core, source, call)))
    .source;
  return { current, newest, outdated: newest !== current, young: false };
}

/** Throws `invalid` if other content of a bundle asks for values that the workload does not have. */
export async function requireBundleConfig(
  core: StateWing & SupplyWing,
  source: BundleSource,
  { user_config, secrets }: RunConfig,
  call: Call,
): Promise<void> {
  const bundle = await obtainBundle(core, source, callFor(core, source, call));
  const references = (secrets ?? []).map(parseReference);
  bundleConfig({ user_config: user_config ?? {}, secrets: references }, bundle);
}

const callFor = (core: StateWing, source: BundleSource, call: Call) => ({
  ...call,
  trusted: trustedFor(core.settings, undefined, source),
});
