import { isDeepStrictEqual } from 'node:util';
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { getCapabilities } from '@toolhive/core/capabilities';
import { checkWorkload } from '@toolhive/core/check';
import type { Core } from '@toolhive/core/core';
import { createWorkload, editWorkload } from '@toolhive/core/create';
import { deleteWorkload, startWorkload } from '@toolhive/core/operate';
import { importCommand } from './hints.ts';
import type { AdoptionRecord } from './record.ts';
import type { FoundServer } from './scan.ts';
import { credentialsIn, withSecrets } from './separate.ts';
import type { Credential } from './separate.ts';

export interface Call {
  report: (message: string) => void;
  signal: AbortSignal;
}

export type Vault = NonNullable<Core['secrets']['vault']>;

/** A found server with the name of its workload. */
export interface Named {
  server: FoundServer;
  workload: string;
  exists: boolean;
}

/** A server that does not stop is killed long before. */
const REMOVAL_MS = 60_000;

/** Runs adopted servers, and finds out whether they work. */
export class AdoptedWorkloads {
  readonly #core: Core;
  readonly #record: AdoptionRecord;
  readonly #vault: Vault;

  constructor(core: Core, record: AdoptionRecord, vault: Vault) {
    this.#core = core;
    this.#record = record;
    this.#vault = vault;
  }

  /** Runs the workload of a server, and returns notes for the user. Leaves nothing behind if the server does not work. */
  async run({ server, workload, exists }: Named, request: CreateWorkload, call: Call): Promise<string[]> {
    const core = this.#core;
    if (exists) {
      await (await startWorkload(core, workload)).follow(call.report, call.signal);
      await this.#toolsOf(workload);
      return [];
    }
    const check = await checkWorkload(
      core,
      { ...request, name: workload },
      { edited: undefined, signal: call.signal },
    );
    refuseRisks(unacceptedOf(check, request), server);
    const at = new Date().toISOString();
    const fingerprint = await this.#record.fingerprint(server.content, this.#vault);
    const created = { at, fingerprint, secrets: [] as string[] };
    await this.#record.setWorkload(workload, created);
    let candidate: string | undefined;
    const keys = new Map<Credential, string>();
    try {
      for (const credential of credentialsIn(request)) {
        const key = await this.#store(`${workload}-${credential.target}`, credential.value);
        keys.set(credential, key);
        created.secrets.push(key);
        await this.#record.setWorkload(workload, created);
      }
      const wanted = { ...withSecrets(request, keys), name: workload };
      const isNarrow =
        check.permissions?.network.kind === 'none' || check.permissions?.network.hosts !== undefined;
      // With the rules of the registry entry, the server may lack a host that its tools need.
      const first = isNarrow ? { ...wanted, permission_profile: builtInProfiles.public } : wanted;
      await createWorkload(core, first, call);
      candidate = core.workloads.require(workload).id;
      await this.#record.setWorkload(workload, { ...created, candidate });
      await core.workloads.require(workload).follow(call.report, call.signal);
      const original = await this.#toolsOf(workload);
      if (isNarrow) {
        call.report('starting with its network rules');
        await editWorkload(core, workload, wanted, call);
        candidate = core.workloads.require(workload).id; // another server gets another ID
        await this.#record.setWorkload(workload, { ...created, candidate });
        await core.workloads.require(workload).follow(call.report, call.signal);
        refuseDifference(original, await this.#toolsOf(workload));
      }
      const { id } = core.workloads.require(workload);
      await this.#record.setWorkload(workload, { ...created, id });
      return check.notes ?? [];
    } catch (thrown) {
      await discard(core, this.#record, workload, { candidate, secrets: created.secrets });
      throw afterRemoval(thrown, workload, server);
    }
  }

  /** The tools of a running workload. Throws if the server does not list them. */
  async #toolsOf(workload: string): Promise<Map<string, unknown>> {
    if (this.#core.workloads.require(workload).requiredSignIn !== undefined) return new Map(); // the user signs in later
    const { tools, problem } = await getCapabilities(this.#core, workload, { refresh: true });
    if (problem !== undefined) throw invalid(`the server does not list its tools: ${problem}`);
    return new Map(tools.map(({ name, input_schema }) => [name, input_schema]));
  }

  async #store(key: string, value: string): Promise<string> {
    for (let count = 1; ; count += 1) {
      const free = count === 1 ? key : `${key}-${count}`;
      try {
        await this.#core.secrets.create(free, value);
        return free;
      } catch (thrown) {
        if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict' || count === 100) throw thrown;
      }
    }
  }
}

/** Removes the workloads and secrets of adoptions that a killed daemon did not finish. */
export async function discardInterrupted(core: Core, record: AdoptionRecord): Promise<void> {
  for (const [workload, { id, candidate, secrets }] of Object.entries(await record.workloads())) {
    if (id !== undefined) continue;
    await discard(core, record, workload, { candidate, secrets });
  }
}

/** Removes the remains of an adoption. A workload of the same name that the user has created stays. */
async function discard(
  core: Core,
  record: AdoptionRecord,
  workload: string,
  { candidate, secrets }: { candidate: string | undefined; secrets: readonly string[] },
): Promise<void> {
  const failed = (error: unknown): void =>
    core.log.warn({ workload, why: messageOf(error) }, 'adoption could not be cleaned up');
  if (candidate !== undefined && core.workloads.find(workload)?.id === candidate)
    await deleteWorkload(core, workload)
      .then((removal) => removal.follow(() => {}, AbortSignal.timeout(REMOVAL_MS)))
      .catch(failed);
  for (const key of secrets) await core.secrets.remove(key).catch(failed);
  await record.setWorkload(workload, undefined);
}

/** A failure without its workload's commands and attempts, because the adoption has removed the workload. */
function afterRemoval(thrown: unknown, workload: string, { entries: [entry] }: FoundServer): unknown {
  if (!(thrown instanceof ThvError) || thrown.hint?.startsWith(`run thv logs ${workload} `) !== true)
    return thrown;
  const message = thrown.message.replace(/ \(next attempt in \d+ s\)$/, '');
  const hint =
    entry && `try again, or run ${importCommand(entry)}, which keeps the workload and its log when it fails`;
  return new ThvError(thrown.kind, message, { hint, cause: thrown });
}

/** The dangerous access without the ports that the user has allowed. */
export const unacceptedOf = (
  { risks }: Pick<WorkloadCheck, 'risks'>,
  { accepted_risks: accepted }: CreateWorkload,
): WorkloadCheck['risks'] => risks.filter(({ risk }) => accepted?.includes(risk) !== true);

/** An entry of a configuration is not the consent of the user. */
export function refuseRisks(risks: readonly { text: string }[], { entries }: FoundServer): void {
  if (risks.length === 0) return;
  const [entry] = entries;
  throw invalid(`it asks for dangerous access: ${risks.map(({ text }) => text).join('; ')}`, {
    hint: entry && `to give the access, run ${importCommand(entry)}`,
  });
}

function refuseDifference(original: ReadonlyMap<string, unknown>, tools: ReadonlyMap<string, unknown>): void {
  const missing = [...original.keys()].filter((name) => !tools.has(name));
  const changed = [...original].filter(
    ([name, schema]) => tools.has(name) && !isDeepStrictEqual(tools.get(name), schema),
  );
  if (missing.length === 0 && changed.length === 0) return;
  const names = [...missing, ...changed.map(([name]) => name)].slice(0, 5).join(', ');
  throw invalid(`with its network rules, the server does not have the same tools: ${names}`, {
    hint: 'run it with thv run and --permission-profile public, and then adopt it again',
  });
}
