import { ThvError, invalid, notFound } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { projectPath, usualPaths } from './files.ts';

/** Removes the workloads that a project has created. */
export async function run({ arguments: [word], flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { projects } = await daemon.listProjects({}, { signal });
  const candidates = word === undefined ? await usualPaths() : [await projectPath(word)];
  const found = candidates.flatMap((path) => projects.find((project) => project.path === path) ?? []);
  const project = found.find(({ servers }) => servers.length > 0) ?? found[0];
  if (project === undefined) {
    throw notFound(`no project of ${word ?? process.cwd()} was started`, {
      hint:
        projects.length === 0
          ? 'thv up starts a project'
          : `the projects are ${projects.map(({ path }) => path).join(', ')}`,
    });
  }
  const names = project.servers.map(({ workload }) => workload);
  if (names.length > 0 && !flags.has('yes')) {
    if (!canAsk()) {
      throw invalid(`thv down removes ${names.join(', ')}, and needs your consent`, {
        hint: 'add --yes',
      });
    }
    await confirm(`Remove ${names.join(', ')}, with the files that they have stored?`, { signal });
  }
  const removed = await daemon.removeProject(
    { body: { path: project.path } },
    { signal, onProgress: out.progress },
  );
  out.result(removed, (page) => {
    if (removed.servers.length === 0) page.line(`The project ${printable(project.name)} has no workloads.`);
    for (const { workload, problem } of removed.servers)
      page.line(
        problem === undefined ? `removed ${workload}` : `not removed ${workload}: ${printable(problem)}`,
      );
    if (removed.kept_secrets.length > 0)
      page.line(
        `These secrets stay: ${removed.kept_secrets.map(printable).join(', ')}. To remove one, run thv secret delete`,
      );
  });
  if (removed.servers.some(({ problem }) => problem !== undefined))
    throw new ThvError('conflict', 'not all workloads were removed');
}
