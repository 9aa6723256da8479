import { useCallback, useEffect, useSyncExternalStore } from 'react';
import type { DaemonEvent } from '@toolhive/contract/event';
import { ThvError, messageOf } from '@toolhive/contract/failure';
import { followEvents } from './events.ts';
import type { Connection } from './events.ts';

/** Data of the daemon that a screen shows, and the events that change it. */
export interface Resource<Data> {
  /** Unique among all resources. */
  key: string;
  load: (signal: AbortSignal) => Promise<Data>;
  /** Whether an event changes the data, so that a reload is necessary. */
  isChangedBy?: (event: DaemonEvent) => boolean;
  /** Applies an event to loaded data at once, before it is loaded again. */
  apply?: (data: Data, event: DaemonEvent) => Data;
  /** The reload interval while a screen shows the data, for data without events. */
  everyMs?: number;
}

export interface Loaded<Data> {
  data: Data | undefined;
  /** When the data was loaded, in milliseconds since 1970. */
  at: number | undefined;
  /** The failure of the last attempt. The data is that of an earlier one. */
  error: ThvError | undefined;
  isLoading: boolean;
}

interface Entry {
  resource: Resource<unknown>;
  state: Loaded<unknown>;
  listeners: Set<() => void>;
  loading: AbortController | undefined;
  /** The data has changed since it was loaded, or during the loading. */
  isOutdated: boolean;
  /** When the last attempt to load ended, also one that failed. */
  endedAt: number;
  /** How long the load that is due after the current one waits. */
  pauseMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer ends. */
  dueAt: number;
  /** The timer that removes data after the last component with the data is unmounted. */
  forget: ReturnType<typeof setTimeout> | undefined;
}

const entries = new Map<string, Entry>();
const nothing: Loaded<never> = { data: undefined, at: undefined, error: undefined, isLoading: true };

/** How long data is kept that no screen shows, so that going back shows it at once. */
const keptMs = 60_000;
/** The shortest time between two loads of the same data after actions of the user. */
const restMs = 100;
/** The same for events, which can come in floods. The first event after a rest loads the data at once. */
const eventRestMs = 500;

/** Returns the data of a resource and keeps it current while the component is mounted. */
export function useResource<Data>(resource: Resource<Data>): Loaded<Data> {
  const { key } = resource;
  const subscribe = useCallback(
    (listener: () => void) => {
      const entry = entryOf(resource as Resource<unknown>);
      clearTimeout(entry.forget);
      entry.listeners.add(listener);
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size > 0) return;
        if (entry.timer !== undefined) {
          // The next component with the data must load it, as after a navigation that follows a change.
          clearTimeout(entry.timer);
          entry.timer = undefined;
          entry.isOutdated = true;
        }
        entry.forget = setTimeout(() => drop(entry), keptMs);
      };
    },
    // The key identifies the resource, which is a new object at each rendering.
    [key],
  );
  const state = useSyncExternalStore(subscribe, () => entries.get(key)?.state ?? nothing);
  useEffect(() => {
    const entry = entryOf(resource as Resource<unknown>);
    const isCurrent = entry.state.data !== undefined && !entry.isOutdated && resource.everyMs === undefined;
    if (entry.loading === undefined && !isCurrent) {
      void load(entry);
    }
  }, [key]);
  return state as Loaded<Data>; // the key determines the type
}

/** Loads data again, as after a change that this page has made. */
export function refresh(key: string): void {
  const entry = entries.get(key);
  if (entry !== undefined) invalidate(entry);
}

/** Loads data again, and resolves when the screen shows it or why it cannot be loaded. At once if no screen shows it. */
export function reloaded(key: string): Promise<void> {
  const entry = entries.get(key);
  refresh(key);
  if (entry === undefined || entry.listeners.size === 0) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  let isLoading = entry.loading !== undefined;
  let loads = isLoading ? 2 : 1; // one that runs now can have begun before the change
  const listener = (): void => {
    const hasEnded = isLoading && !entry.state.isLoading;
    isLoading = entry.state.isLoading;
    if (hasEnded) loads -= 1;
    if (loads > 0) return;
    entry.listeners.delete(listener);
    resolve();
  };
  entry.listeners.add(listener);
  return promise;
}

function entryOf(resource: Resource<unknown>): Entry {
  const existing = entries.get(resource.key);
  if (existing !== undefined) {
    existing.resource = resource;
    return existing;
  }
  const entry: Entry = {
    resource,
    state: nothing,
    listeners: new Set(),
    loading: undefined,
    isOutdated: false,
    endedAt: -Infinity,
    pauseMs: eventRestMs,
    timer: undefined,
    dueAt: Infinity,
    forget: undefined,
  };
  entries.set(resource.key, entry);
  return entry;
}

/** Removes data that no component shows. */
function drop(entry: Entry): void {
  clearTimeout(entry.forget); // a later entry with the same key may be shown
  entry.loading?.abort();
  entries.delete(entry.resource.key);
}

async function load(entry: Entry): Promise<void> {
  const controller = new AbortController();
  entry.loading = controller;
  entry.isOutdated = false;
  entry.pauseMs = eventRestMs;
  set(entry, { ...entry.state, isLoading: true });
  try {
    const data = await entry.resource.load(controller.signal);
    set(entry, { data, at: Date.now(), error: undefined, isLoading: false });
  } catch (thrown) {
    set(entry, { ...entry.state, error: failureOf(thrown), isLoading: false });
  }
  entry.loading = undefined;
  entry.endedAt = Date.now();
  if (entry.isOutdated) schedule(entry, entry.pauseMs);
  else if (entry.resource.everyMs !== undefined && entry.listeners.size > 0)
    schedule(entry, entry.resource.everyMs);
}

function schedule(entry: Entry, ms: number): void {
  clearTimeout(entry.timer);
  entry.dueAt = Date.now() + ms;
  entry.timer = setTimeout(() => {
    entry.timer = undefined;
    // A tab that is not seen does not poll, and loads when it is seen again.
    if (document.visibilityState === 'hidden') entry.isOutdated = true;
    else if (entry.listeners.size > 0 && entry.loading === undefined) void load(entry);
  }, ms);
}

function loadOutdated(): void {
  if (document.visibilityState === 'hidden') return;
  for (const entry of entries.values())
    if (entry.isOutdated && entry.listeners.size > 0 && entry.loading === undefined) void load(entry);
}

/** Loads the data soon. Neither a flood of events nor an event after an action of the user delays a load that is due. */
function invalidate(entry: Entry, pauseMs = restMs): void {
  if (entry.loading !== undefined) {
    entry.isOutdated = true;
    entry.pauseMs = Math.min(entry.pauseMs, pauseMs);
    return;
  }
  if (entry.listeners.size === 0) return drop(entry);
  const dueAt = Math.max(Date.now(), entry.endedAt + pauseMs);
  if (entry.timer === undefined || dueAt < entry.dueAt) schedule(entry, dueAt - Date.now());
}

function set(entry: Entry, state: Loaded<unknown>): void {
  entry.state = state;
  for (const listener of entry.listeners) listener();
}

/** Converts any exception to a failure that can be shown. */
export function failureOf(thrown: unknown): ThvError {
  return thrown instanceof ThvError ? thrown : new ThvError('unavailable', messageOf(thrown));
}

let connection: Connection = 'connecting';
let lostAt: number | undefined;
const connectionListeners = new Set<() => void>();
const eventListeners = new Set<(event: DaemonEvent) => void>();

/** Starts to keep all resources current. */
export function startStore(): void {
  document.addEventListener('visibilitychange', loadOutdated);
  followEvents({
    onEvent(event) {
      for (const entry of entries.values()) {
        const { resource, state } = entry;
        if (state.data !== undefined && resource.apply !== undefined) {
          const data = resource.apply(state.data, event);
          if (data !== state.data) set(entry, { ...state, data });
        }
        if (event.type === 'reset' || resource.isChangedBy?.(event) === true) invalidate(entry, eventRestMs);
      }
      for (const listener of eventListeners) listener(event);
    },
    onConnection(next) {
      if (next === connection) return;
      connection = next;
      lostAt = next === 'lost' ? Date.now() : undefined;
      for (const listener of connectionListeners) listener();
      if (next !== 'live') return;
      // Events only report changes, and after an interruption they continue where they were.
      for (const entry of entries.values()) if (entry.state.error?.kind === 'unavailable') invalidate(entry);
    },
  });
}

/** Calls back for each event until the result is called. */
export function onEvent(listener: (event: DaemonEvent) => void): () => void {
  eventListeners.add(listener);
  return () => void eventListeners.delete(listener);
}

/** Calls back for each event while the component is mounted. */
export function useEvents(listener: (event: DaemonEvent) => void): void {
  useEffect(() => onEvent(listener), [listener]);
}

/** Whether events arrive, and since when they do not. */
export function useConnection(): { connection: Connection; lostAt: number | undefined } {
  const subscribe = useCallback((listener: () => void) => {
    connectionListeners.add(listener);
    return () => void connectionListeners.delete(listener);
  }, []);
  const current = useSyncExternalStore(subscribe, () => connection);
  return { connection: current, lostAt };
}
