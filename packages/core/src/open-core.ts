import type { Core } from './core.ts';
import { ensureEndpoints } from './groups/endpoint-switch.ts';
import { finishRemovals } from './groups/operate.ts';
import { LearningEnds } from './network/learning-ends.ts';
import { endLearning } from './network/operate.ts';
import { openDaemonServer } from './meta/daemon-server.ts';
import { openClients } from './wings/clients.ts';
import { openGovernance } from './wings/governance.ts';
import type { CoreOptions } from './wings/options.ts';
import { openState } from './wings/state.ts';
import { openSupply } from './wings/supply.ts';
import { openWorkloads } from './wings/workloads.ts';

export type { Core } from './core.ts';
export type { CoreOptions } from './wings/options.ts';

/**
 * Takes ownership of the state directory and applies the desired state. Throws `conflict` if another daemon owns the
 * directory. Each wing receives the ones before it.
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  await using opened = new AsyncDisposableStack();
  const state = await openState(options, opened);
  const governance = await openGovernance(state, opened);
  const supply = await openSupply(options, state, governance, opened);
  const workloads = await openWorkloads(
    options,
    { ...state, ...governance, ...supply },
    {
      openBuiltIn: (runConfig, note) => openDaemonServer(core, runConfig, note),
      onChange: (changed) => {
        clients.clients.reconcileSoon();
        if (changed !== undefined) learningEnds.consider(changed);
      },
    },
    opened,
  );
  const learningEnds = opened.use(
    new LearningEnds({
      now: state.now,
      log: state.log,
      end: (supervisor) => endLearning(core, supervisor, state.now()),
    }),
  );
  const clients = await openClients(state, workloads, opened);
  const { version, startedAt, paths, log, settings, logs, events, progress } = state;
  const core: Core = {
    version,
    startedAt,
    paths,
    log,
    settings,
    logs,
    events,
    progress,
    ...governance,
    ...supply,
    ...workloads,
    ...clients,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
  await core.workloads.restore();
  for (const workload of core.workloads.all()) learningEnds.consider(workload);
  await finishRemovals(core);
  await ensureEndpoints(core);
  await core.clients.reconcile();
  const everything = opened.move();
  return core;
}
