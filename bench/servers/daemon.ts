// A daemon with its API on a Unix socket, and servers that cost next to nothing: `node daemon.ts shell|memory`.
import { limitYoungGeneration } from '@toolhive/cli/young-generation';

// As `thv serve` does.
using _limit = limitYoungGeneration();
const { serveDaemon } = await import('./daemon-modules.ts');
await serveDaemon();
