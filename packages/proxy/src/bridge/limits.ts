/** The limits on counts and durations for one workload. */
export interface Limits extends FixedLimits {
  /** Connections to the server that only one client uses. */
  maxOwn: number;
  /** Connections that are started at once for calls of one client without a session. */
  maxStarting: number;
}

/** The limits that do not depend on the machine. */
interface FixedLimits {
  /** Sessions. The one that was silent for the longest time makes room, preferably one without a listening client. */
  maxSessions: number;
  /** How long a session may be silent before the session ends. */
  sessionIdleMs: number;
  /** How long a session whose client is not connected may be silent until its own connection to the server is closed. */
  ownIdleMs: number;
  /** How long calls wait for the decision whether sessions share a process. */
  decideMs: number;
  /** How long a process without calls is kept that sessions share because nothing is lost if it ends. */
  sharedIdleMs: number;
  /** How long the process that all clients share stays without a request while clients have their own processes. */
  restMs: number;
  /** How long a server may not answer `server/discover` before `initialize` is sent as well. */
  probeMs: number;
  /** How long a request waits for a server that is starting or restarting. */
  waitForServerMs: number;
  /** How long a request waits for a separate connection. */
  waitForRoomMs: number;
  /** How long a connection is kept after its call, for the next call of the same caller. */
  keepMs: number;
  /** How long a modern client has to answer a server request. */
  clientAnswerMs: number;
  /** How long a request continues after its client disconnects, because the client may reconnect. */
  abandonedMs: number;
  /** How long a modern client's list request waits for the previous list request. */
  listTurnMs: number;
  /** How often clients and the proxy ask a server about a task at most and at least, whatever the server wants. */
  minPollMs: number;
  maxPollMs: number;
  /** How often idle sessions are ended and quiet connections are kept alive. */
  maintenanceMs: number;
}

export const defaultLimits: FixedLimits = {
  maxSessions: 1000,
  sessionIdleMs: 2 * 60 * 60_000,
  ownIdleMs: 15 * 60_000,
  decideMs: 10_000,
  sharedIdleMs: 60_000,
  restMs: 5_000,
  probeMs: 3_000,
  waitForServerMs: 30_000,
  waitForRoomMs: 30_000,
  keepMs: 5 * 60_000,
  clientAnswerMs: 10 * 60_000,
  abandonedMs: 5 * 60_000,
  listTurnMs: 5_000,
  minPollMs: 500,
  maxPollMs: 30_000,
  maintenanceMs: 15_000,
};
