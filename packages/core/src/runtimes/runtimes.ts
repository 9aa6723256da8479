import { formerRuntime } from '@toolhive/contract/names';
import type { RuntimeChecks } from '@toolhive/contract/system';
import type { RunConfig } from '@toolhive/contract/run-config';
import { invalid, unavailable, unsupported } from '@toolhive/contract/failure';
import type { ImageBuilder, Runtime, RuntimeReport } from '@toolhive/runtime/runtime';

/** The runtimes of this daemon, the preferred one first, and the choice among them. */
export class Runtimes {
  readonly #runtimes: readonly Runtime[];
  readonly #wanted: string | undefined;

  /** `wanted` names the runtime to use instead of the first available one (`TOOLHIVE_RUNTIME`). */
  constructor(runtimes: readonly Runtime[], wanted: string | undefined) {
    this.#runtimes = runtimes;
    this.#wanted = wanted === '' ? undefined : wanted;
    if (this.#wanted !== undefined) this.#named(this.#wanted);
  }

  /** Describes them all, and says which one new workloads get. */
  async check(signal?: AbortSignal): Promise<RuntimeChecks> {
    const reports = await Promise.all(this.#runtimes.map((runtime) => runtime.check(signal)));
    const chosen = reports.find((report) => report.available && this.#isWanted(report));
    return {
      chosen: chosen?.runtime ?? null,
      runtimes: reports.map((report) => ({
        ...report,
        runs: this.#named(report.runtime).capabilities.runs,
        limits: report.limits.map(({ text }) => text),
      })),
    };
  }

  /** The runtime for a new workload. If none is available, the error names the software to install. */
  async choose(signal?: AbortSignal): Promise<Runtime> {
    const { chosen, runtimes } = await this.check(signal);
    if (chosen !== null) return this.#named(chosen);
    const missing = runtimes.filter(
      (report) => this.#wanted === undefined || report.runtime === this.#wanted,
    );
    throw unavailable(
      `no server can run on this machine: ${missing.map(({ detail }) => detail).join('; ')}`,
      {
        hint: missing.flatMap(({ hint }) => hint ?? []).join('; or '),
      },
    );
  }

  /** The runtime for a new workload from a bundle. */
  async chooseForBundles(signal?: AbortSignal): Promise<Runtime> {
    const able = this.#runtimes.filter(
      ({ name, capabilities }) => capabilities.runsBundles && (this.#wanted ?? name) === name,
    );
    const reports = await Promise.all(able.map((runtime) => runtime.check(signal)));
    const found = reports.find(({ available }) => available);
    if (found !== undefined) return this.#named(found.runtime);
    const [report] = reports;
    if (report !== undefined)
      throw unavailable(`no bundle can run on this machine: ${report.detail}`, { hint: report.hint });
    throw unsupported('a bundle cannot run in a container, and TOOLHIVE_RUNTIME allows no other runtime', {
      hint: 'start the daemon with TOOLHIVE_RUNTIME=process, or without that variable',
    });
  }

  /** A workload's runtime. */
  of({ runtime = formerRuntime }: RunConfig): Runtime {
    const found = this.#runtimes.find(({ name }) => name === runtime);
    if (found !== undefined) return found;
    throw unsupported(`unknown runtime ${JSON.stringify(runtime)}`, {
      hint: `set runtime in its run config to ${this.#names}`,
    });
  }

  /** Builds container images from packages, whichever runtime is preferred. The engine may still be missing. */
  images(): ImageBuilder {
    const images = this.#runtimes.find((runtime) => runtime.images !== undefined)?.images;
    if (images === undefined) throw unavailable('no runtime on this machine can build container images');
    return images;
  }

  /** Removes an earlier daemon's leftovers in every runtime. */
  async sweep(onFailure: (runtime: string, error: unknown) => void): Promise<void> {
    const sweep = (runtime: Runtime): Promise<void> =>
      runtime.sweep().catch((error: unknown) => onFailure(runtime.name, error));
    await Promise.all(this.#runtimes.map(sweep));
  }

  /** Inspects the machine now, so that the first workload does not wait for that. */
  prepare(): void {
    this.check().catch(() => {}); // the next caller that needs the result receives the error
  }

  #isWanted(report: RuntimeReport): boolean {
    return this.#wanted === undefined || report.runtime === this.#wanted;
  }

  #named(name: string): Runtime {
    const runtime = this.#runtimes.find((candidate) => candidate.name === name);
    if (runtime !== undefined) return runtime;
    throw invalid(`runtime ${JSON.stringify(name)} not found`, {
      hint: `use ${this.#names}`,
    });
  }

  get #names(): string {
    return this.#runtimes.map(({ name }) => name).join(' or ');
  }
}
