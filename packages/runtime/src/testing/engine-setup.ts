import type { TestProject } from 'vitest/node';
import { availableEngines, buildTestImage, startDockerEngine, startPodmanEngine } from './docker-engine.ts';
import type { EngineName } from './engines.ts';
import { offer } from './started-once.ts';
import type { Started } from './started-once.ts';

/** Sockets of engines that run already and have the image. These engines are used and left alone. */
const given = {
  docker: process.env.THV_TEST_DOCKER_SOCKET,
  podman: process.env.THV_TEST_PODMAN_SOCKET,
};

const starters = { docker: startDockerEngine, podman: startPodmanEngine };

async function startEngine(name: EngineName): Promise<Started> {
  const socket = given[name];
  const nothing = { [Symbol.asyncDispose]: async () => {} };
  if (socket !== undefined) return { text: socket, ...nothing };
  const available = (await availableEngines())[name];
  if (available !== true) {
    process.stderr.write(`SKIPPED: everything that needs ${name}, as ${available}\n`);
    return { text: '', ...nothing };
  }
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await starters[name]());
  await buildTestImage(engine);
  const ended = opened.move();
  return { text: engine.socket, [Symbol.asyncDispose]: () => ended.disposeAsync() };
}

/** Offers the container engines to all test files, which start them with `engineSocket`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return offer(project, { docker: () => startEngine('docker'), podman: () => startEngine('podman') });
}
