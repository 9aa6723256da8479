import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clientApplications } from '@toolhive/contract/client-application';
import { ThvError, messageOf } from '@toolhive/contract/failure';
import type { Core } from '@toolhive/core/core';
import { readIfThere, writeWhole } from '@toolhive/state/files';
import { Adoptions } from './adoptions.ts';
import * as z from 'zod';

const CHECK_MS = 10_000;
/** The names in one event. */
const MAX_NAMES = 20;
/** Others write the names. */
const MAX_NAME_CHARS = 200;

/** The servers that clients run themselves, as of the last look, by client. */
const Seen = z.record(z.string(), z.array(z.string()));
type Seen = z.infer<typeof Seen>;

/**
 * Reports servers that users or installers add to clients, until the signal aborts, and keeps the adopted entries up to
 * date. Changes nothing else in such a file. Servers from before the first look are not reported.
 */
export async function watchNewcomers(core: Core, signal: AbortSignal): Promise<void> {
  let problem: string | undefined;
  while (!signal.aborted) {
    try {
      await reportNewcomers(core);
      await Adoptions.of(core, process.env).follow();
      problem = undefined;
    } catch (error) {
      if (messageOf(error) !== problem)
        core.log.warn({ why: messageOf(error) }, 'client files could not be watched');
      problem = messageOf(error);
    }
    await delay(CHECK_MS, undefined, { signal, ref: false }).catch(() => {}); // the loop sees the abort
  }
}

/** Looks once. */
export async function reportNewcomers({ clients, events, paths }: Core): Promise<void> {
  const path = join(paths.state, 'unmanaged-servers.json');
  const before = await readSeen(path);
  const now: Seen = {};
  for (const { id } of clientApplications) {
    const names = await unmanagedNames(clients, id);
    const known = before?.[id] ?? [];
    // An unreadable file says nothing about its servers.
    const all = names ?? known;
    if (all.length > 0) now[id] = all;
    const added = before === undefined ? [] : all.filter((name) => !known.includes(name));
    if (added.length > 0)
      events.emit({ type: 'client.unmanaged', name: id, servers: added.slice(0, MAX_NAMES) });
  }
  if (JSON.stringify(now) !== JSON.stringify(before)) await writeWhole(path, JSON.stringify(now));
}

async function unmanagedNames(
  clients: Core['clients'],
  id: (typeof clientApplications)[number]['id'],
): Promise<string[] | undefined> {
  try {
    return (await clients.unmanaged(id)).map(({ name }) => name.slice(0, MAX_NAME_CHARS)).toSorted();
  } catch (thrown) {
    if (thrown instanceof ThvError) return undefined;
    throw thrown;
  }
}

async function readSeen(path: string): Promise<Seen | undefined> {
  const text = await readIfThere(path);
  try {
    return text === undefined ? undefined : Seen.parse(JSON.parse(text));
  } catch {
    return undefined; // the next look begins anew
  }
}
