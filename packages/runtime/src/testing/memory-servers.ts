import { serveHttp } from 'toolhive-test-servers/http';
import { serveStdio } from 'toolhive-test-servers/servers';
import type { MemoryServer } from '../memory/memory.ts';
import { formatSource } from '../source.ts';
import type { PackageSource } from '../source.ts';

/** The test servers as the package that they are. */
export const testServersSource: PackageSource = {
  kind: 'package',
  scheme: 'npx',
  name: 'toolhive-test-servers',
  version: '1.0.0',
};

/** The test servers for the memory runtime: the same code as in the package, in this process. */
export const memoryTestServers: ReadonlyMap<string, MemoryServer> = new Map([
  [
    formatSource(testServersSource),
    async (world) => {
      const [manners = 'echo', ...args] = world.args;
      if (manners === 'http' || manners === 'sse') await serveHttp(manners, { ...world, args });
      else await serveStdio(manners, { ...world, args });
    },
  ],
]);
