import type { TestProject } from 'vitest/node';
import { availableEngines, buildTestImage, startDockerEngine, startPodmanEngine } from './docker-engine.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The socket of a Docker Engine that has the image with the test servers; empty when there is none. */
    dockerSocket: string;
    /** The same of a Podman. */
    podmanSocket: string;
  }
}

/** Sockets of engines that run already and have the image; they are used and left alone. */
const given = {
  docker: process.env.THV_TEST_DOCKER_SOCKET,
  podman: process.env.THV_TEST_PODMAN_SOCKET,
};

const starters = { docker: startDockerEngine, podman: startPodmanEngine };

/** Starts the engines that this machine can start, once for all test files, and ends them afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engines = new AsyncDisposableStack();
  try {
    const available = await availableEngines();
    for (const name of ['docker', 'podman'] as const) {
      let socket = given[name];
      if (socket === undefined && available[name] === true) {
        const engine = engines.use(await starters[name]());
        await buildTestImage(engine);
        socket = engine.socket;
      }
      if (socket === undefined)
        process.stderr.write(`SKIPPED: everything that needs ${name}, as ${available[name]}\n`);
      project.provide(`${name}Socket`, socket ?? '');
    }
  } catch (error) {
    await engines.disposeAsync();
    throw error;
  }
  return () => engines.disposeAsync();
}
