import type { Registry } from '@toolhive/contract/registry';
import type { Skipped } from './read.ts';

/** Where the registry comes from: the product itself, an address or a file. */
export interface Source extends AsyncDisposable {
  readonly type: 'default' | 'url' | 'file';
  /** The URL or the path. Empty for the built-in registry. */
  readonly place: string;
  /** What is known now. */
  readonly state: SourceState;
  /** Ensures that content is available and recent. Never fails: the state reports problems. */
  read(): Promise<void>;
  /** Reads the source now, even if the content is recent. Never fails either. */
  refresh(): Promise<void>;
}

export interface SourceState {
  /** The source's latest content. Empty until the first success. */
  registry: Registry;
  skipped: readonly Skipped[];
  /** The source has never been read. */
  isUnread: boolean;
  /** The source cannot be read any more. */
  isStale: boolean;
  /** Why the source cannot be read completely. */
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
