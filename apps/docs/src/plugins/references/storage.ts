import { statePaths } from '@toolhive/state/paths';
import type { StatePaths } from '@toolhive/state/paths';
import { code, table, textOf } from './markdown.ts';

/** The content of each file and directory. Parents and paths that differ for each machine are left out. */
const contents: Partial<Record<Exclude<keyof StatePaths, 'byName' | 'earlier'>, string>> = {
  settings: 'Settings and registered clients',
  ignoreFile: 'The global ignore file',
  runConfigs: 'The run config of each workload. References to secrets, never their values',
  groups: 'Groups',
  mounts: 'Granted mounts with device and inode',
  homes: 'Home directories of sandboxed servers',
  statuses: 'Workload status',
  logs: 'Server logs and proxy logs',
  secrets: 'Encrypted secrets',
  clientEntries: 'Entries that ToolHive added to client configuration files',
  events: 'Events',
  workloads: 'Approved tools, the latest lists of each server, and the hosts that servers connected to',
  packages: 'Hashes and provenance of installed packages',
  audit: 'Audit records',
  auditFile: 'Audit records as JSON lines',
  cache: 'Installed packages and copies of registries',
};

const systems = [
  { name: 'Linux', platform: 'linux', env: { HOME: '~' } },
  { name: 'macOS', platform: 'darwin', env: { HOME: '~' } },
  { name: 'Windows', platform: 'win32', env: { HOME: '~', LOCALAPPDATA: '%LOCALAPPDATA%' } },
] as const;

/** Returns the table of storage locations on each operating system, to be included in a page. */
export function storageReference(): string {
  const paths = systems.map(({ platform, env }) => ({ platform, paths: statePaths(env, platform) }));
  const keys = Object.keys(contents) as (keyof typeof contents)[]; // the keys of a constant
  const rows = keys.map((key) => [
    textOf(contents[key] ?? ''),
    ...paths.map(({ platform, paths: own }) => code(written(own[key] ?? '', platform))),
  ]);
  return `${table('Storage locations', ['Content', ...systems.map(({ name }) => name)], rows)}\n`;
}

const written = (path: string, platform: NodeJS.Platform): string =>
  platform === 'win32' ? path.replaceAll('/', '\\') : path;
