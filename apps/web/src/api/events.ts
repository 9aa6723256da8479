import type { DaemonEvent } from '@toolhive/contract/event';
import { ThvError } from '@toolhive/contract/failure';
import { client, giveUp, lastHeardAt } from './client.ts';
import { onSignInElsewhere } from './sign-in.ts';

/** Whether events arrive. */
export type Connection = 'connecting' | 'live' | 'lost';

interface Listener {
  onEvent: (event: DaemonEvent) => void;
  onConnection: (connection: Connection) => void;
}

type Message = { event: DaemonEvent } | { connection: Connection } | { hello: true } | { hangs: true };

/**
 * A daemon that was silent at so many looks hangs: three heartbeats of its stream are missing. Looks are counted, because
 * the time of a computer that sleeps goes on.
 */
const maxSilentLooks = 9;
const lookMs = 5_000;

/** The time between attempts to reach a daemon that does not respond. */
const retryMs = 500;
/** The same where the daemon refuses this browser, because it records each attempt. */
const refusedRetryMs = 60_000;

/**
 * Follows the events of the daemon. One tab reads the stream and passes events on to the others, because a browser
 * opens at most six connections to one host. When that tab is closed, another one takes over.
 */
export function followEvents({ onEvent, onConnection }: Listener): void {
  if (!('locks' in navigator)) {
    // A page over plain http from another machine has no locks, so each tab reads the stream.
    void lead((message) => {
      if ('event' in message) onEvent(message.event);
      else if ('connection' in message) onConnection(message.connection);
      else if ('hangs' in message) giveUp();
    });
    return;
  }
  const channel = new BroadcastChannel('toolhive-events');
  let isLeader = false;
  let connection: Connection = 'connecting';
  const tell = (message: Message): void => {
    deliver(message);
    channel.postMessage(message);
  };
  const deliver = (message: Message): void => {
    if ('event' in message) onEvent(message.event);
    else if ('connection' in message) onConnection((connection = message.connection));
    else if ('hangs' in message) giveUp();
    else if (isLeader) channel.postMessage({ connection } satisfies Message);
  };
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => deliver(data));
  void navigator.locks.request('toolhive-events', async () => {
    isLeader = true;
    await lead((message) => tell(message));
  });
  channel.postMessage({ hello: true } satisfies Message);
}

/** Reads the stream until the tab is closed. */
async function lead(tell: (message: Message) => void): Promise<never> {
  let last: string | undefined;
  for (;;) {
    let silentLooks = 0;
    let heardAt = lastHeardAt();
    const watch = setInterval(() => {
      silentLooks = lastHeardAt() === heardAt ? silentLooks + 1 : 0;
      heardAt = lastHeardAt();
      if (silentLooks >= maxSilentLooks) tell({ hangs: true });
    }, lookMs);
    let isRefused = false;
    try {
      const events = await client.watchEvents({ headers: { 'last-event-id': last } });
      tell({ connection: 'live' });
      // Changes since the page was loaded, or since the connection was lost without an event to resume after.
      if (last === undefined) tell({ event: { type: 'reset', at: new Date().toISOString() } });
      for await (const { id, event } of events) {
        if (id !== '') last = id;
        tell({ event });
      }
    } catch (thrown) {
      // The connection is lost or refused, which the state below shows. The next attempt determines the cause.
      isRefused = thrown instanceof ThvError && thrown.kind === 'unauthorized';
    } finally {
      clearInterval(watch);
    }
    tell({ connection: 'lost' });
    await (isRefused ? signInOrPause() : new Promise((resolve) => setTimeout(resolve, retryMs)));
  }
}

/** Waits until this browser signs in, which another tab tells, or for a while. */
async function signInOrPause(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = onSignInElsewhere(resolve);
  const timer = setTimeout(resolve, refusedRetryMs);
  await promise;
  clearTimeout(timer);
  stop();
}
