import { join } from 'node:path';
import { conflict, notFound } from '@toolhive/contract/failure';
import type {
  ApplyProject,
  ExportProject,
  ExportedProject,
  ProjectPlan,
  ProjectRequest,
  ProjectResult,
  Projects as ProjectList,
  RemovedProject,
} from '@toolhive/contract/project';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { Core } from '@toolhive/core/core';
import { ProjectRun, removeOwned } from './apply.ts';
import type { Call } from './apply.ts';
import { exportProject } from './export.ts';
import { clearGroups } from './groups.ts';
import { planOf, presentWorkloads } from './plan.ts';
import { problemOf } from './problem.ts';
import type { Plan } from './plan.ts';
import { ProjectRecord } from './record.ts';

const instances = new WeakMap<Core, Projects>();

/** Sets of servers that a file describes. */
export class Projects {
  readonly #core: Core;
  readonly #record: ProjectRecord;
  readonly #queue = new SerialQueue();

  private constructor(core: Core) {
    this.#core = core;
    this.#record = new ProjectRecord(join(core.paths.state, 'projects'));
  }

  /** The same object for each listener of a daemon, because only one project changes at a time. */
  static of(core: Core): Projects {
    const known = instances.get(core) ?? new Projects(core);
    instances.set(core, known);
    return known;
  }

  async plan(request: ProjectRequest, signal: AbortSignal): Promise<ProjectPlan> {
    return (await planOf(this.#core, this.#record, request, signal)).shown;
  }

  /** Throws `conflict` for another plan than the accepted one, and for a difference from the lock with `locked`. */
  apply(request: ApplyProject, call: Call): Promise<ProjectResult> {
    return this.#queue.run(async () => {
      const plan = await planOf(this.#core, this.#record, request, call.signal);
      if (plan.shown.digest !== request.plan) {
        throw conflict('the plan has changed since it was shown', {
          hint: 'look at the new plan, and accept it',
        });
      }
      const { refusals } = plan.shown;
      if (refusals.length > 0) {
        throw conflict(refusals.map(({ message }) => message).join('; '), { hint: refusals[0]?.hint });
      }
      if (needsSecrets(plan)) await this.#core.secrets.setUpIfNeeded(call.report);
      return new ProjectRun(this.#core, this.#record, request, plan.project).run(plan, call);
    });
  }

  async list(): Promise<ProjectList['projects']> {
    return Object.entries(await this.#record.all()).map(([path, project]) => ({
      name: project.name,
      path,
      servers: [...presentWorkloads(this.#core, project)].map(([name, { workload }]) => ({ name, workload })),
      secrets: Object.values(project.secrets).toSorted(),
    }));
  }

  /** Removes the workloads that the project has created. A failure does not affect the others. */
  remove(path: string, call: Call): Promise<RemovedProject> {
    return this.#queue.run(async () => {
      const project = await this.#record.find(path);
      if (project === undefined) {
        throw notFound(`no project of the file ${path} was started`, {
          hint: 'name the file that thv up was run with',
        });
      }
      const servers: RemovedProject['servers'] = [];
      const left = new Set<string>();
      for (const [name, owned] of presentWorkloads(this.#core, project)) {
        call.signal.throwIfAborted();
        const { workload } = owned;
        const failure = await removeOwned(this.#core, owned, call.report).then(
          () => ({}),
          (thrown: unknown) => problemOf(thrown),
        );
        if ('problem' in failure) left.add(name);
        servers.push({ name, workload, ...failure });
      }
      const kept = Object.entries(project.servers).filter(([name]) => left.has(name));
      await clearGroups(this.#core, project.groups ?? [], call);
      // A later endpoint of such a group is not the project's.
      const groups = kept.length === 0 ? [] : project.groups;
      await this.#record.save(path, { ...project, servers: Object.fromEntries(kept), groups });
      return { servers, kept_secrets: Object.values(project.secrets).toSorted() };
    });
  }

  export(request: ExportProject): Promise<ExportedProject> {
    return exportProject(this.#core, request);
  }
}

const needsSecrets = ({ servers }: Plan): boolean =>
  servers.some(({ wanted }) => wanted?.desired.values.some(({ value }) => value !== undefined));
