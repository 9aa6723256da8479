import { lookup as systemLookup } from 'node:dns';
import { join } from 'node:path';
import { BundleStore } from '@toolhive/bundles/store';
import { defaultRegistry } from '@toolhive/contract/names';
import type { Lookup } from '@toolhive/outgoing/way-out';
import { PackageInspection } from '@toolhive/registry/package-inspection';
import { PackageRecords } from '@toolhive/registry/package-records';
import { RegistryStore } from '@toolhive/registry/store';
import { openTrustedRoot } from '@toolhive/registry/trusted-root';
import { openDockerRuntime } from '@toolhive/runtime/docker';
import { GatewayProcess } from '@toolhive/runtime/gateway-process';
import { openProcessRuntime } from '@toolhive/runtime/process';
import type { Runtime } from '@toolhive/runtime/runtime';
import { Secrets } from '@toolhive/secrets/secrets';
import type { SecretsChange } from '@toolhive/secrets/secrets';
import type { StatePaths } from '@toolhive/state/paths';
import { installationSettings } from '@toolhive/state/values';
import type { Logger } from 'pino';
import type { EventToSend } from '../events/events.ts';
import { Runtimes } from '../runtimes/runtimes.ts';
import type { GovernanceWing } from './governance.ts';
import type { CoreOptions } from './options.ts';
import type { openState } from './state.ts';

type State = Awaited<ReturnType<typeof openState>>;

/** Where servers, their programs, and their secrets come from. */
export interface SupplyWing {
  registry: RegistryStore;
  /** What is known of installed packages. */
  packages: PackageInspection;
  /** The content of bundles. */
  bundles: BundleStore;
  runtimes: Runtimes;
  secrets: Secrets;
  /** Resolves the names of remote servers. */
  lookup: Lookup;
}

export async function openSupply(
  options: CoreOptions,
  state: State,
  { audit }: GovernanceWing,
  opened: AsyncDisposableStack,
): Promise<SupplyWing> {
  const { env, version, log, paths, settings, events, daemonId } = state;
  const { lookup = systemLookup } = options;
  const packages = opened.use(
    new PackageInspection({
      records: await PackageRecords.open(paths.packages, log),
      readRoot: options.readTrustedRoot ?? openTrustedRoot({ cacheDir: join(paths.cache, 'sigstore'), log }),
      certificates: installationSettings(settings).trusted,
      env,
    }),
  );
  const onChange = (): void => events.emit({ type: 'registry.changed', name: defaultRegistry });
  const registry = opened.use(
    await RegistryStore.open({ settings, cacheDir: paths.registryCopies, log, onChange }),
  );
  const secrets = opened.use(
    new Secrets({
      settings,
      path: paths.secrets,
      env,
      version,
      log,
      onChange: (change) => events.emit(secretEvent(change)),
      onValue: (value) => audit.redaction.add(value),
      ...options.secrets,
    }),
  );
  const make = options.runtimes ?? machineRuntimes(env, log);
  const runtimes = new Runtimes(make(daemonId, paths), env['TOOLHIVE_RUNTIME']);
  await runtimes.sweep((runtime, error) =>
    log.warn({ runtime, err: error }, 'leftovers could not be removed'),
  );
  runtimes.prepare(); // afterwards, because its own files look like leftovers
  const bundles = new BundleStore(paths.bundles);
  await bundles.removeUnused(paths.runConfigs);
  return { registry, packages, bundles, runtimes, secrets, lookup };
}

function secretEvent(change: SecretsChange): EventToSend {
  if (change.kind === 'provider') return { type: 'secrets.changed' };
  return { type: change.kind === 'set' ? 'secret.changed' : 'secret.removed', name: change.name };
}

/** A container engine if there is one, else sandboxed processes. */
function machineRuntimes(env: NodeJS.ProcessEnv, log: Logger) {
  return (daemonId: string, paths: StatePaths): Runtime[] => {
    const gateways = new GatewayProcess({ log: (message, fields) => log.warn(fields, message) });
    return [
      openDockerRuntime({
        gateways,
        daemonId,
        tempDir: paths.temp,
        recordsDir: paths.images,
        env,
        log: (message, fields) => log.debug(fields ?? {}, message),
      }),
      openProcessRuntime({
        gateways,
        daemonId,
        cacheDir: `${paths.cache}/packages`,
        tempDir: paths.temp,
        bundlesDir: paths.bundles,
        homesDir: paths.homes,
        env,
        log: (message, fields) => log.debug(fields ?? {}, message),
      }),
    ];
  };
}
