import { describeRuntime } from '../testing/conformance.ts';
import { memoryTestServers, testServersSource } from '../testing/memory-servers.ts';
import { openMemoryRuntime } from './memory.ts';

describeRuntime('memory', { isolates: false }, async () => ({
  runtime: openMemoryRuntime(memoryTestServers),
  source: testServersSource,
  missing: { kind: 'package', scheme: 'npx', name: 'no-such-package' },
  async [Symbol.asyncDispose]() {},
}));
