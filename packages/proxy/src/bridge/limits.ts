/** How much of everything there may be for one workload, and how long it may take. */
export interface Limits {
  /** Conversations with the server that a client has to itself. */
  maxOwn: number;
  /** Sessions; the one silent for longest makes room, and rather one that nobody listens for. */
  maxSessions: number;
  /** How long a session may be silent before it is forgotten. */
  sessionIdleMs: number;
  /** How long a server may be silent on `server/discover` before it is asked in the legacy way as well. */
  probeMs: number;
  /** How long a request waits for a server that is starting or restarting. */
  waitForServerMs: number;
  /** How long a request waits for a conversation to become free. */
  waitForRoomMs: number;
  /** How long a conversation is kept that its client has no use for any more, as another one may have. */
  keepMs: number;
  /** How long a modern client has to answer what it was asked. */
  patienceMs: number;
  /** How long a request goes on whose client has disconnected, and may come back. */
  abandonedMs: number;
  /** How long a list of a modern client waits for the one before it. */
  listTurnMs: number;
  /** How often it is seen to what nobody asks for: idle sessions, connections that have to be kept alive. */
  upkeepMs: number;
}

export const defaultLimits: Limits = {
  maxOwn: 16,
  maxSessions: 1000,
  sessionIdleMs: 2 * 60 * 60_000,
  probeMs: 3_000,
  waitForServerMs: 30_000,
  waitForRoomMs: 30_000,
  keepMs: 5 * 60_000,
  patienceMs: 10 * 60_000,
  abandonedMs: 5 * 60_000,
  listTurnMs: 5_000,
  upkeepMs: 15_000,
};
