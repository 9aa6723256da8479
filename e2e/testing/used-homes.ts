import { existsSync } from 'node:fs';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { keepHome } from './kept-homes.ts';
import { isListening, makeUser } from './thv.ts';
import type { User } from './thv.ts';

/** Homes for one test after another. Their daemons keep running, because a start takes most of the time of a short test. */
export interface UsedHomes extends AsyncDisposable {
  /**
   * A user like a new one. A later test gets the home if nothing of this test is left in it. Tests about daemons themselves and
   * about records of the past need a new user.
   */
  take(): Promise<User>;
}

const state = '.local/state/toolhive';
const config = '.config/toolhive/config.yaml';
const secretStore = /^\.local\/share\/toolhive\/secrets_encrypted(?:\.password)?$/;
const secretSettings = 'secrets:\n  provider_type: encrypted\n  setup_completed: true\n';

/** The folders of ToolHive, and of packages and programs, which are the same for everyone. */
const kept: Readonly<Record<string, readonly string[]>> = {
  '.': ['.cache', '.config', '.local', '.npm', '.programs'],
  '.cache': ['toolhive', 'uv'],
  '.config': ['toolhive'],
  '.local': ['share', 'state'],
  '.local/share': ['toolhive'],
  '.local/state': ['toolhive'],
};

/** What is left of a daemon without workloads. Records of the past are in databases and logs. */
const neutral = new RegExp(
  `^(?:\\.local/share/toolhive/logs/.*|${state}/(?:${[
    String.raw`(?:audit|events|history|packages|workloads)\.db(?:-shm|-wal)?`,
    String.raw`audit-anchor\.json|audit\.log|blanks/file|workloads/adopted`,
    String.raw`hive(?:\.lock|\.log|\.sock|-id)|task-key`,
  ].join('|')}))$`,
);

/** Files that commands change, as they are before any command, or after its effect is undone. */
const initial: Readonly<Record<string, RegExp>> = {
  [config]: /^clients:\n {2}registered_clients: \[\]\ndefault_group_migration: true\n$/,
  [`${state}/adoptions/index.json`]: /"changes": \[\]/,
  [`${state}/client-entries.json`]: /^\{\s*"clients": \{\}\s*\}\s*$/,
  [`${state}/groups/default.json`]: /^\{\s*"name": "default",\s*"registered_clients": \[\]\s*\}\s*$/,
  [`${state}/unmanaged-servers.json`]: /^\{\}\s*$/,
};

/** What tests do not care about. */
interface Leftovers {
  /** Files of the daemon that do not disturb these tests, in its folder. */
  harmless?: readonly string[];
  /** Whether a user may have an empty secret store from the beginning. */
  withSecretStore?: boolean;
}

/** Homes like those of `makeUser()`, which all test files of a process use, one after the other. */
const ofAllFiles: User[] = [];

/** Homes of users who all are like `makeUser` makes them. Without options, later test files get them, too. */
export function openUsedHomes(
  options?: Parameters<typeof makeUser>[0],
  leftovers: Leftovers = {},
): UsedHomes {
  const isForAllFiles = options === undefined;
  const free: User[] = isForAllFiles ? ofAllFiles : [];
  return {
    async take() {
      const user = free.pop() ?? (await makeUser(options));
      const env = JSON.stringify(user.env);
      const giveBack = async (): Promise<void> => {
        const isReusable =
          JSON.stringify(user.env) === env && (await isLikeNew(user, leftovers).catch(() => false));
        const isKept = isReusable && (!isForAllFiles || (await keepHome(user.home)));
        if (isKept) free.push(user);
        else await user[Symbol.asyncDispose]();
      };
      return { ...user, [Symbol.asyncDispose]: giveBack };
    },
    async [Symbol.asyncDispose]() {
      if (isForAllFiles) return;
      await Promise.all(free.splice(0).map((user) => user[Symbol.asyncDispose]()));
    },
  };
}

/** Removes workloads and files of a user, and returns whether a new user would have the rest, too. */
async function isLikeNew(
  user: User,
  { harmless = [], withSecretStore = false }: Leftovers,
): Promise<boolean> {
  if (!(await isListening(join(user.home, state, 'hive.sock')))) return false;
  await removeWorkloads(user);
  await removeGroups(user);
  if (withSecretStore) await removeSecrets(user);
  for (const [folder, names] of Object.entries(kept)) {
    const entries = await readdir(join(user.home, folder)).catch(() => []); // no test has needed it yet
    const others = entries.filter((name) => !names.includes(name));
    for (const name of others) await rm(join(user.home, folder, name), { recursive: true, force: true });
  }
  for (const folder of ['.config/toolhive', '.local/share/toolhive', state]) {
    const place = join(user.home, folder);
    if (!existsSync(place)) continue; // no test has needed it yet
    for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
      const path = relative(user.home, join(entry.parentPath, entry.name));
      if (entry.isDirectory() || harmless.includes(relative(state, path))) continue;
      if (withSecretStore && secretStore.test(path)) continue;
      if (!(await isNeutral(user.home, path, withSecretStore))) return false;
    }
  }
  return true;
}

export async function removeWorkloads(user: User): Promise<void> {
  const { text } = await user.api('GET', '/api/v1beta/workloads?all=true');
  const { workloads } = JSON.parse(text) as { workloads: unknown[] };
  if (workloads.length > 0) await user.mustThv('rm', '--all', '--yes');
}

async function removeGroups(user: User): Promise<void> {
  const { text } = await user.api('GET', '/api/v1beta/groups');
  const { groups } = JSON.parse(text) as { groups: { name: string }[] };
  for (const { name } of groups)
    if (name !== 'default') await user.api('DELETE', `/api/v1beta/groups/${encodeURIComponent(name)}`);
}

async function removeSecrets(user: User): Promise<void> {
  const place = '/api/v1beta/secrets/default/keys';
  const { status, text } = await user.api('GET', place);
  if (status !== 200) return; // there is no secret store
  const { keys } = JSON.parse(text) as { keys: { key: string }[] };
  for (const { key } of keys) await user.api('DELETE', `${place}/${encodeURIComponent(key)}`);
}

async function isNeutral(home: string, path: string, withSecretStore: boolean): Promise<boolean> {
  const content = initial[path];
  if (content === undefined) return neutral.test(path);
  const text = await readFile(join(home, path), 'utf8');
  return content.test(withSecretStore && path === config ? text.replace(secretSettings, '') : text);
}
