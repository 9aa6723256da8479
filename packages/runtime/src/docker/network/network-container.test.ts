// @suite system
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { requireWaiting } from './network-container.ts';
import { WAITING_PROGRAM } from './waiting-image.ts';

test.runIf(process.platform === 'linux')(
  'a process becomes that of a network container when its program runs, however late',
  async () => {
    // The engine names the process while it still prepares the container.
    const script = `read -r line; exec -a ${WAITING_PROGRAM} cat -`;
    const child = spawn('bash', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
    await once(child, 'spawn');
    const { pid = 0, stdin } = child;

    const waiting = requireWaiting(pid, '-');
    stdin.write('go\n');

    await expect(waiting).resolves.toBeUndefined();
    stdin.end();
    await once(child, 'exit');
  },
);

test.runIf(process.platform === 'linux')(
  'a process that is older than every preparation belongs to another machine, which is said at once',
  async () => {
    await expect(requireWaiting(1, 'toolhive-network-1')).rejects.toThrow(
      'the process 1 is not in the container',
    );
  },
);
