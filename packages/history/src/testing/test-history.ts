import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { History } from '../history.ts';
import type { HistoryOptions } from '../history.ts';

/** A history in a directory of its own, which can be opened again. */
export async function openTestHistory(changes: Partial<HistoryOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'thv-history-'));
  const options: HistoryOptions = {
    log: pino({ level: 'silent' }),
    now: () => new Date(),
    isKnown: () => true,
    withoutSecrets: (text) => text,
    ...changes,
  };
  const path = join(directory, 'history.db');
  const open = (more: Partial<HistoryOptions> = {}): Promise<History> =>
    History.open(path, { ...options, ...more });
  return {
    directory,
    path,
    open,
    async [Symbol.asyncDispose]() {
      await rm(directory, { recursive: true, force: true });
    },
  };
}
