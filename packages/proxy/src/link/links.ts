import { setTimeout as delay } from 'node:timers/promises';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Message } from '../jsonrpc/message.ts';
import { errorCodes } from '../jsonrpc/message.ts';
import type { ClientIdentity, Era } from '../protocol.ts';
import type { Wire } from '../wire/wire.ts';
import { greet } from './greeting.ts';
import { ServerLink } from './link.ts';
import type { Call, LinkOwner } from './link.ts';

/** How long a server has for its greeting. */
const greetingMs = 60_000;
/** How long one that was started for the next client is kept. Clients come in swarms. */
const spareMs = 60_000;

export interface LinksOptions {
  /** How many there may be at once. */
  maxOwn: number;
  /** How long a request waits for one to become free. */
  waitForRoomMs: number;
  /** How long one waits for the next server, when the one that it was begun with has ended. */
  waitForServerMs: number;
  /** How long one is kept that was given back. */
  keepMs: number;
  probeMs: number;
  /** Starting one takes a while, so that the next one is started before it is needed. */
  isSlow: boolean;
  /** The limits on what servers send. */
  input: WorkloadInput;
  onFault: (error: unknown) => void;
}

/** Starts something that can be talked to: a process of its own, or a conversation over HTTP. */
export type OpenWire = (signal: AbortSignal) => Promise<Wire>;

/** Where conversations come from, until it is over. */
interface Source {
  openWire: OpenWire;
  era: Era;
  over: AbortController;
  /** Started, and not greeted yet: for whom it is will be known only then. */
  spare?: { wire: Promise<Wire>; timer: NodeJS.Timeout } | undefined;
}

/** A conversation that is its holder's own until it is given back. */
export interface OwnLink {
  readonly link: ServerLink;
  /** With a `key`, it is kept for whoever asks for the same; without, it is ended. */
  giveBack(key?: string): void;
}

/**
 * The conversations with one server that are not shared. There are only so many: the one that was silent for
 * longest makes room, and its holder, who is told that it is lost, gets another one with its next request.
 */
export class Links {
  readonly #options: LinksOptions;
  /** What is being started or ended: there is a process behind each, or will be in a moment. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #seats = new Set<Seat>();
  #opening = 0;
  #waiting: (() => void)[] = [];
  #source: Source | undefined;
  /** Why nobody is going to say where new ones come from. */
  #overFor: string | undefined;

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /** Says where new ones come from. */
  use(openWire: OpenWire, era: Era): void {
    this.#source = { openWire, era, over: new AbortController() };
    this.#overFor = undefined;
    this.#wake();
  }

  /** Ends all of them, and opens no more until there is a new source; with `final`, nobody waits for that. */
  async close(reason: string, final: boolean): Promise<void> {
    if (final) this.#overFor = reason;
    const source = this.#source;
    this.#source = undefined;
    source?.over.abort(new Error(reason));
    if (source !== undefined) void this.#track(dropSpare(source));
    for (const seat of this.#seats) void this.#end(seat, reason);
    this.#wake();
    // Also what was begun or ended a moment ago: whoever closes twice waits twice.
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** One for `holder`, who speaks for `client`; one that was given back with `key`, if there is any. */
  async take(holder: LinkOwner, client: ClientIdentity, key?: string): Promise<OwnLink> {
    const kept = key === undefined ? undefined : this.#seats.values().find((seat) => seat.keptFor === key);
    const seat = kept ?? (await this.#open(client));
    seat.keptFor = undefined;
    clearTimeout(seat.keepTimer);
    seat.holder = holder;
    return { link: seat.link, giveBack: (keepFor) => this.#giveBack(seat, keepFor) };
  }

  /** Ends those that are kept under a key that begins like this. */
  endKept(start: string): void {
    for (const seat of this.#seats)
      if (seat.keptFor?.startsWith(start) === true)
        this.#end(seat, 'nobody needs it any more').catch(this.#options.onFault);
  }

  /** Gives up requests for whose answers nobody has been waiting for this long. */
  giveUpAbandoned(abandonedMs: number): void {
    for (const { link } of this.#seats) link.giveUpAbandoned(abandonedMs);
  }

  #giveBack(seat: Seat, key: string | undefined): void {
    seat.holder = undefined;
    if (key !== undefined && seat.link.isOpen) {
      seat.keptFor = key;
      const end = (): void => void this.#end(seat, 'nobody has needed it for long');
      seat.keepTimer = setTimeout(end, this.#options.keepMs).unref();
    } else void this.#end(seat, 'nobody needs it any more');
    this.#wake();
  }

  async #open(client: ClientIdentity): Promise<Seat> {
    await this.#room();
    const deadline = performance.now() + this.#options.waitForServerMs;
    try {
      for (;;) {
        const source = await this.#nextSource(deadline);
        try {
          return await this.#track(this.#begin(source, client));
        } catch (error) {
          if (!source.over.signal.aborted) throw error;
          // The server went before it was asked for anything, so that the next one can be.
        }
      }
    } finally {
      this.#opening--;
      this.#prepare();
      this.#wake();
    }
  }

  async #nextSource(deadline: number): Promise<Source> {
    while (this.#source === undefined) {
      if (this.#overFor !== undefined) throw new Error(`the server is not running: ${this.#overFor}`);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error('the server is still starting');
      await this.#turn(leftMs);
    }
    return this.#source;
  }

  async #begin(source: Source, client: ClientIdentity): Promise<Seat> {
    const { era, over } = source;
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(greetingMs)]);
    const spare = await takeSpare(source).catch(() => undefined);
    const wire = spare ?? (await source.openWire(over.signal));
    const { input, onFault } = this.#options;
    const seat = new Seat((lost) => void this.#end(lost, 'the server ended'));
    seat.link = new ServerLink({ wire, owner: seat, input, onFault });
    try {
      await greet(seat.link, { client, era, probeMs: this.#options.probeMs, signal });
      signal.throwIfAborted();
    } catch (error) {
      await seat.link.close('it could not be greeted');
      // It may have ended while it waited for somebody to talk to.
      if (spare !== undefined && !signal.aborted) return this.#begin(source, client);
      throw error;
    }
    this.#seats.add(seat);
    // Nobody takes it away before whoever it is for has had the chance to use it.
    setImmediate(() => {
      seat.isNew = false;
      this.#wake();
    });
    return seat;
  }

  /** Has one started for the next client, if there may be another. */
  #prepare(): void {
    const source = this.#source;
    const isFull = this.#seats.size + this.#opening >= this.#options.maxOwn;
    if (!this.#options.isSlow || source === undefined || source.spare !== undefined || isFull) return;
    const wire = this.#track(source.openWire(source.over.signal));
    const timer = setTimeout(() => void this.#track(dropSpare(source)), spareMs).unref();
    const spare = { wire, timer };
    source.spare = spare;
    wire.catch(() => {
      if (source.spare === spare) source.spare = undefined; // whoever needs one is told why there is none
    });
  }

  /** Returns when there is room for one more, which is counted from then on. */
  async #room(): Promise<void> {
    const deadline = performance.now() + this.#options.waitForRoomMs;
    while (this.#seats.size + this.#opening >= this.#options.maxOwn) {
      const idle = this.#longestIdle();
      if (idle !== undefined) {
        // Its place is free at once: a server that takes its time to end must not keep the next client waiting.
        this.#end(idle, 'it made room for another client').catch(this.#options.onFault);
        continue;
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error('too many clients use the server at once, try again later');
      await this.#turn(leftMs);
    }
    this.#opening++;
  }

  #longestIdle(): Seat | undefined {
    const idle = [...this.#seats].filter(({ use, isNew }) => use !== 'busy' && !isNew);
    const places = idle.toSorted(
      (one, other) =>
        order.indexOf(one.use) - order.indexOf(other.use) || one.link.lastUsedMs - other.link.lastUsedMs,
    );
    return places[0];
  }

  /** Returns when something has changed, or after that long. */
  async #turn(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#waiting.push(resolve);
    const late = delay(ms, undefined, { signal: over.signal }).catch(() => {}); // the other one came first
    await Promise.race([promise, late]);
    over.abort();
  }

  #wake(): void {
    for (const waiter of this.#waiting.splice(0)) waiter();
  }

  async #end(seat: Seat, reason: string): Promise<void> {
    this.#seats.delete(seat);
    clearTimeout(seat.keepTimer);
    await this.#track(seat.link.close(reason));
    this.#wake();
  }

  /** Remembers it until it has settled. */
  #track<Value>(promise: Promise<Value>): Promise<Value> {
    const settled = (): void => void this.#underWay.delete(promise);
    this.#underWay.add(promise);
    promise.then(settled, settled);
    return promise;
  }
}

/** Rejects when there is none. */
async function takeSpare(source: Source): Promise<Wire> {
  const { spare } = source;
  if (spare === undefined) throw new Error('there is none');
  source.spare = undefined;
  clearTimeout(spare.timer);
  return spare.wire;
}

async function dropSpare(source: Source): Promise<void> {
  const wire = await takeSpare(source).catch(() => undefined);
  await wire?.close();
}

/** What a conversation is used for: by nobody, by one who asks nothing now, by one who has gone away, by one who waits. */
type Use = 'kept' | 'idle' | 'parked' | 'busy';

/** Who makes room first; among equals, whoever was silent for longest. A busy one never does. */
const order: readonly Use[] = ['kept', 'idle', 'parked'];

/** A conversation and whoever has it now. */
class Seat implements LinkOwner {
  declare link: ServerLink;
  holder: LinkOwner | undefined;
  keptFor: string | undefined;
  /** Until when it is kept. */
  keepTimer: NodeJS.Timeout | undefined;
  isNew = true;
  readonly #onLost: (seat: Seat) => void;

  constructor(onLost: (seat: Seat) => void) {
    this.#onLost = onLost;
  }

  get use(): Use {
    if (this.holder === undefined) return 'kept';
    if (this.holder.isParked === true) return 'parked';
    if (this.link.busy === 0) return 'idle';
    return this.link.isAwaited ? 'busy' : 'parked';
  }

  notified(message: Message, call: Call | undefined): void {
    this.holder?.notified(message, call);
  }

  asked(link: ServerLink, message: Message, call: Call | undefined): void {
    if (this.holder !== undefined) this.holder.asked(link, message, call);
    else link.respond(message, { error: { code: errorCodes.serverError, message: 'there is no client' } });
  }

  lost(link: ServerLink, reason: string): void {
    const { holder } = this;
    this.holder = undefined;
    this.#onLost(this);
    holder?.lost(link, reason);
  }
}
