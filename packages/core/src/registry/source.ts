import type { Registry } from '@toolhive/contract/registry';
import type { Skipped } from './read.ts';

/** Where the registry comes from: the product itself, an address or a file. */
export interface Source extends AsyncDisposable {
  readonly type: 'default' | 'url' | 'file';
  /** The address or the path; empty for the built-in one. */
  readonly place: string;
  /** What is known now. */
  readonly state: SourceState;
  /** Sees to it that something is known, and that it is not old. Never fails: the state tells. */
  read(): Promise<void>;
  /** Asks the source now, whatever is known. Never fails either. */
  refresh(): Promise<void>;
}

export interface SourceState {
  /** What the source said last; empty when it never said anything. */
  registry: Registry;
  skipped: readonly Skipped[];
  /** The source has never been read. */
  isUnread: boolean;
  /** The source cannot be read any more. */
  isStale: boolean;
  /** Why it cannot be read, or not completely. */
  problem?: string;
  fetchedAt?: string;
}

/** What is known of a source that could not be read yet. Another registry must not take its place. */
export const unread: SourceState = {
  registry: { version: '', last_updated: '', servers: {}, remote_servers: {} },
  skipped: [],
  isUnread: true,
  isStale: false,
};
