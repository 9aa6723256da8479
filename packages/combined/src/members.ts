import type { ReachableProxy } from '@toolhive/proxy/proxy-client';

/** A running server of the group. */
export interface Member {
  name: string;
  /** The proxy in front of the server. A changed proxy is another object. */
  proxy: ReachableProxy;
  /** Callers need credentials, so each of them may see other things. */
  isAuthenticated: boolean;
}

/** A change of members, or of the lists of one or all of them. */
export type MemberChange = { kind: 'members' } | { kind: 'tools'; name: string } | { kind: 'everything' };

/** The servers of the group. */
export interface Members {
  /** The servers that run. */
  current(): readonly Member[];
  /** The names of all servers, running or not. */
  names(): readonly string[];
  /** Yields each change until the signal aborts. */
  changes(signal: AbortSignal): AsyncIterable<MemberChange>;
}
