import { join } from 'node:path';
import { conflict, invalid, messageOf, notFound } from '@toolhive/contract/failure';
import { inNaturalOrder } from '@toolhive/contract/natural-order';
import { advice, fixes } from '@toolhive/contract/fixes';
import type { GroupEndpoint } from '@toolhive/contract/group';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { GroupName, defaultGroup } from '@toolhive/contract/names';
import type { Logger } from 'pino';
import * as z from 'zod';
import { filesIn, readIfThere, removeFile, writeWhole } from '@toolhive/state/files';
import { setAside } from '@toolhive/state/set-aside';

/** What is on disk of a group. Other keys belong to other versions and pass through untouched. */
const StoredGroup = z.looseObject({
  name: GroupName,
  description: z.string().optional(),
  registered_clients: z.array(z.string()).nullish(),
  /** Clients get only the meta server of the group. */
  meta: z.boolean().optional(),
  /** Clients get only the combined endpoint of the group. */
  endpoint: z.literal('combined').optional().catch(undefined),
  /** The combined endpoint's tools. By default, all. None if the file with the choice was damaged. */
  tools: z.array(z.string()).optional(),
  /** The group is being removed, with this plan for its workloads. The next daemon completes an interrupted removal. */
  removing: z.enum(['move-workloads', 'delete-workloads']).optional(),
  /** The group is being renamed to this name. Its workloads and clients belong to the new group already. */
  successor: GroupName.optional(),
});
type StoredGroup = z.infer<typeof StoredGroup>;

/** What becomes of the workloads of a group that is removed. */
export type Removal = NonNullable<StoredGroup['removing']>;

/** A group in API responses. */
export interface KnownGroup {
  name: string;
  description: string | undefined;
  clients: readonly string[];
  /** The only endpoint that clients get, if they do not get each workload. */
  endpoint: GroupEndpoint | undefined;
  /** The combined endpoint's tools. Undefined for all. */
  tools: readonly string[] | undefined;
}

/** A file is the copy of another group's file. */
class NameDiffers extends Error {}

/** What is done to the applications of a group. */
type ListChange = 'add' | 'remove';

/** The groups: on disk a file each, all of them in memory. Who changes one sees the change at once. */
export class Groups {
  readonly #directory: string;
  readonly #log: Logger;
  readonly #groups = new Map<string, StoredGroup>();
  readonly #onChange: (name: string, isThere: boolean) => void;
  readonly #changes = new SerialQueue();

  private constructor(directory: string, log: Logger, onChange: (name: string, isThere: boolean) => void) {
    this.#directory = directory;
    this.#log = log;
    this.#onChange = onChange;
  }

  /**
   * Reads all groups. Sets invalid files aside. The default group always exists, and so does a group whose file is damaged,
   * without its clients and tools: its workloads still belong to it.
   */
  static async open(
    directory: string,
    log: Logger,
    onChange: (name: string, isThere: boolean) => void,
  ): Promise<Groups> {
    const groups = new Groups(directory, log, onChange);
    const damaged = await groups.#load();
    await groups.#createSuccessors();
    for (const name of damaged) await groups.#createEmpty({ name, tools: [] });
    if (!groups.#groups.has(defaultGroup)) await groups.#createEmpty({ name: defaultGroup });
    return groups;
  }

  /** The groups that are not being removed, by name. */
  all(): KnownGroup[] {
    return [...this.#groups.values()]
      .filter(({ removing }) => removing === undefined)
      .map(known)
      .toSorted((a, b) => inNaturalOrder(a.name, b.name));
  }

  /** The groups that are being removed, and the plan for each. */
  get removals(): { name: string; removal: Removal }[] {
    return [...this.#groups.values()].flatMap(({ name, removing }) =>
      removing === undefined ? [] : [{ name, removal: removing }],
    );
  }

  /** Throws if a workload or a client cannot join the group. */
  require(name: string): KnownGroup {
    const group = this.#groups.get(name);
    if (group === undefined || group.removing !== undefined) {
      throw notFound(
        `group ${name} not found`,
        advice('run thv group list to see all groups', fixes.showGroups),
      );
    }
    return known(group);
  }

  /** The name of a group, or the new name during a rename. */
  currentName(name: string): string {
    return this.#groups.get(name)?.successor ?? name;
  }

  create(name: string, description?: string): Promise<void> {
    return this.#changes.run(async () => {
      if (this.#groups.has(name))
        throw conflict(`group ${name} already exists`, { hint: 'choose another name' });
      const described = description === undefined || description === '' ? {} : { description };
      await this.#save({ name, ...described, registered_clients: [] });
    });
  }

  /** Changes the endpoint of a group. Earlier versions know only the meta server. */
  setEndpoint(name: string, endpoint: GroupEndpoint | undefined): Promise<void> {
    return this.#changes.run(async () => {
      const before = this.require(name).endpoint;
      const group = this.#groups.get(name);
      if (group === undefined || before === endpoint) return;
      const isMeta = endpoint === 'meta';
      await this.#save({
        ...group,
        meta: isMeta ? true : undefined,
        endpoint: isMeta ? undefined : endpoint,
      });
    });
  }

  /** Changes the tools of the combined endpoint of a group. None means all. */
  setTools(name: string, tools: readonly string[]): Promise<void> {
    return this.#changes.run(async () => {
      this.require(name);
      const group = this.#groups.get(name);
      const chosen = tools.length === 0 ? undefined : [...new Set(tools)];
      if (group !== undefined) await this.#save({ ...group, tools: chosen });
    });
  }

  /** Changes a group's description. An empty description removes it. */
  describe(name: string, description: string): Promise<void> {
    return this.#changes.run(async () => {
      this.require(name);
      const group = this.#groups.get(name);
      if (group !== undefined) await this.#save({ ...group, description: description || undefined });
    });
  }

  /**
   * Creates a group with another group's description and clients, and marks the other group for removal. The caller
   * must then move the workloads and call `finishRemoval`.
   */
  beginRename(name: string, successor: string): Promise<void> {
    return this.#changes.run(async () => {
      if (name === defaultGroup) throw invalid(`the group ${defaultGroup} keeps its name`);
      this.require(name);
      const group = this.#groups.get(name);
      if (group === undefined) return;
      if (this.#groups.has(successor))
        throw conflict(`group ${successor} already exists`, { hint: 'choose another name' });
      // In memory first, so that the new group exists in the meantime. On disk, the mark comes first, and the next
      // daemon creates the missing group.
      const renamed = { ...group, name: successor };
      this.#groups.set(successor, renamed);
      try {
        await this.#save({ ...group, removing: 'move-workloads', successor });
        await this.#save(renamed);
      } catch (error) {
        await this.#save(group).catch(() => {}); // the next start completes the removal
        this.#groups.delete(successor);
        throw error;
      }
    });
  }

  /**
   * Adds clients to groups or removes them. Existing memberships stay. A missing group cannot gain members and has no
   * members to lose.
   */
  changeClients(names: readonly string[], kind: ListChange, clients: readonly string[]): Promise<void> {
    return this.#changes.run(async () => {
      if (kind === 'add') for (const name of names) this.require(name);
      for (const name of names) {
        const group = this.#groups.get(name);
        if (group === undefined) continue;
        const before = group.registered_clients ?? [];
        const after = changedList(before, kind, clients);
        if (after.length !== before.length) await this.#save({ ...group, registered_clients: after });
      }
    });
  }

  /** Marks a group so that nothing new can join it. `finishRemoval` completes the removal. */
  beginRemoval(name: string, removal: Removal): Promise<void> {
    return this.#changes.run(async () => {
      if (name === defaultGroup) throw invalid(`the group ${defaultGroup} cannot be removed`);
      this.require(name);
      const group = this.#groups.get(name);
      if (group !== undefined) await this.#save({ ...group, removing: removal });
    });
  }

  /** Keeps a group whose removal failed. */
  abandonRemoval(name: string): Promise<void> {
    return this.#changes.run(async () => {
      const group = this.#groups.get(name);
      if (group !== undefined) await this.#save({ ...group, removing: undefined, successor: undefined });
    });
  }

  finishRemoval(name: string): Promise<void> {
    return this.#changes.run(async () => {
      await removeFile(this.#path(name));
      this.#groups.delete(name);
      this.#onChange(name, false);
    });
  }

  /** Returns the names of groups whose files are damaged. */
  async #load(): Promise<string[]> {
    const damaged: string[] = [];
    for (const file of await filesIn(this.#directory)) {
      if (!file.endsWith('.json')) continue;
      const path = join(this.#directory, file);
      try {
        const group = StoredGroup.parse(JSON.parse((await readIfThere(path)) ?? ''));
        if (`${group.name}.json` !== file) throw new NameDiffers(`the file contains the name ${group.name}`);
        this.#groups.set(group.name, group);
      } catch (error) {
        await setAside(path, error, this.#log);
        const name = GroupName.safeParse(file.slice(0, -'.json'.length)).data;
        if (name !== undefined && !(error instanceof NameDiffers)) damaged.push(name);
      }
    }
    return damaged;
  }

  /** Creates the groups that an interrupted daemon did not create during a rename. */
  async #createSuccessors(): Promise<void> {
    for (const { successor, removing: _removing, ...group } of this.#groups.values()) {
      if (successor === undefined || this.#groups.has(successor)) continue;
      const renamed = { ...group, name: successor };
      await this.#save(renamed).catch((error: unknown) => {
        this.#log.error({ why: messageOf(error) }, 'renamed group could not be saved');
        this.#groups.set(successor, renamed);
      });
    }
  }

  /** The group exists even if it cannot be saved. */
  async #createEmpty(given: Pick<StoredGroup, 'name' | 'tools'>): Promise<void> {
    const group = { ...given, registered_clients: [] };
    await this.#save(group).catch((error: unknown) => {
      this.#log.error({ group: group.name, why: messageOf(error) }, 'group could not be saved');
      this.#groups.set(group.name, group);
    });
  }

  /** In memory first: a second caller must see the first one's change, though the disk is slow. */
  async #save(group: StoredGroup): Promise<void> {
    const before = this.#groups.get(group.name);
    this.#groups.set(group.name, group);
    try {
      await writeWhole(this.#path(group.name), `${JSON.stringify(group, null, 2)}\n`);
    } catch (error) {
      if (before === undefined) this.#groups.delete(group.name);
      else this.#groups.set(group.name, before);
      throw error;
    }
    this.#onChange(group.name, true);
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}

function known(group: StoredGroup): KnownGroup {
  const { name, description, registered_clients: clients, meta, endpoint, tools } = group;
  return {
    name,
    description,
    clients: clients ?? [],
    endpoint: meta === true ? 'meta' : endpoint,
    tools,
  };
}

/** The applications of a list after a change. */
export function changedList(
  before: readonly string[],
  kind: ListChange,
  clients: readonly string[],
): string[] {
  return kind === 'add'
    ? [...new Set([...before, ...clients])]
    : before.filter((client) => !clients.includes(client));
}
