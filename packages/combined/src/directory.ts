import { hash } from 'node:crypto';
import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { allKinds, changeOf } from './kinds.ts';
import type { Kind } from './kinds.ts';
import type { Member, Members } from './members.ts';
import { MemberView } from './view.ts';

export interface DirectoryOptions {
  members: Members;
  version: string;
  pollingMs: number;
  /** The other facts that lists depend on, as text. */
  circumstances: () => string;
  /** Called before clients learn that a list has changed. */
  onList: (view: MemberView, kind: Kind) => readonly Kind[];
  /** Called when clients must read a list again. */
  onChange: (notification: string) => void;
  onUpdate: (view: MemberView, uri: string) => void;
  onFault: (error: unknown) => void;
}

/** How many credentials are kept for one server. */
const maxViews = 20;
/** How long a list waits for servers. Together with everything else, it takes less than a second. */
const patienceMs = 700;

/** The servers of a group, with a view for each of the callers' credentials. */
export class Directory implements AsyncDisposable {
  readonly #options: DirectoryOptions;
  readonly #over = new AbortController();
  readonly #views = new Map<string, Map<string, MemberView>>();
  readonly #polling: NodeJS.Timeout;
  #circumstances = '';

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#polling = setInterval(() => this.#poll(), options.pollingMs).unref();
    this.#followMembers();
    this.#followEvents().catch(options.onFault);
  }

  /** Returns the views of a caller, by the name of their server. */
  visibleTo(caller: InProcessCaller): MemberView[] {
    return this.#options.members
      .current()
      .map((member) => this.#viewFor(member, caller))
      .toSorted(({ member: one }, { member: other }) => (one.name < other.name ? -1 : 1));
  }

  /** The views for callers without credentials. */
  get shared(): MemberView[] {
    return [...this.#views.values()].flatMap((views) => views.get('') ?? []);
  }

  /** Waits for lists that are being read for the first time, but only for a while. */
  async settle(views: readonly MemberView[], asked: readonly Kind[], signal: AbortSignal): Promise<void> {
    for (;;) {
      const nowMs = performance.now();
      const pending = views
        .flatMap(({ lists }) => asked.map((kind) => lists[kind]))
        .filter(({ pendingSinceMs }) => pendingSinceMs !== undefined && nowMs - pendingSinceMs < patienceMs);
      if (pending.length === 0 || signal.aborted) return;
      const left = Math.max(
        ...pending.map(({ pendingSinceMs = nowMs }) => pendingSinceMs + patienceMs - nowMs),
      );
      await within(Promise.all(pending.flatMap(({ settled }) => settled ?? [])), left, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the endpoint ends'));
    clearInterval(this.#polling);
    await Promise.all(this.#all().map((view) => view[Symbol.asyncDispose]()));
  }

  #all(): MemberView[] {
    return [...this.#views.values()].flatMap((views) => [...views.values()]);
  }

  #viewFor(member: Member, { authorization }: { authorization?: string | undefined }): MemberView {
    const credentials = member.isAuthenticated ? authorization : undefined;
    const key = credentials === undefined ? '' : hash('sha256', credentials);
    const views = this.#views.get(member.name) ?? new Map<string, MemberView>();
    this.#views.set(member.name, views);
    const known = views.get(key);
    if (known?.member.proxy === member.proxy) {
      known.lastUsedMs = performance.now();
      return known;
    }
    if (known !== undefined) this.#drop(known);
    const { version, onUpdate } = this.#options;
    const onChange = (view: MemberView, kind: Kind): void => this.#changed(view, kind);
    const view = new MemberView({ member, authorization: credentials, version, onChange, onUpdate });
    views.set(key, view);
    const [oldest] = [...views].toSorted(([, one], [, other]) => one.lastUsedMs - other.lastUsedMs);
    if (views.size > maxViews && oldest !== undefined) {
      views.delete(oldest[0]);
      this.#drop(oldest[1]);
    }
    return view;
  }

  #changed(view: MemberView, kind: Kind): void {
    const changed = new Set([kind, ...this.#options.onList(view, kind)].map((one) => changeOf[one]));
    for (const notification of changed) this.#options.onChange(notification);
  }

  /** Opens a view for each new server, and closes those of servers that do not run anymore. */
  #followMembers(): void {
    const members = new Map(this.#options.members.current().map((member) => [member.name, member]));
    for (const [name, views] of this.#views) {
      for (const [key, view] of views) {
        if (members.get(name)?.proxy === view.member.proxy) continue;
        views.delete(key);
        this.#drop(view);
      }
      if (views.size === 0) this.#views.delete(name);
    }
    // The lists of the others are read for each caller, with the credentials of the caller.
    for (const member of members.values()) if (!member.isAuthenticated) this.#viewFor(member, {});
    const before = this.#circumstances;
    this.#circumstances = JSON.stringify([[...members.keys()].toSorted(), this.#options.circumstances()]);
    if (before === '' || before === this.#circumstances) return;
    for (const notification of new Set(Object.values(changeOf))) this.#options.onChange(notification);
  }

  #drop(view: MemberView): void {
    view[Symbol.asyncDispose]().catch(this.#options.onFault);
  }

  async #followEvents(): Promise<void> {
    for await (const change of this.#options.members.changes(this.#over.signal)) {
      this.#followMembers();
      if (change.kind === 'members') continue;
      const views = change.kind === 'tools' ? this.#views.get(change.name)?.values() : this.#all();
      for (const view of views ?? []) view.refresh(allKinds);
    }
  }

  /** Reads the lists of servers that report no changes. */
  #poll(): void {
    this.#followMembers();
    for (const view of this.#all()) view.poll();
  }
}

async function within(settled: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const abort = (): void => resolve();
  signal.addEventListener('abort', abort, { once: true });
  await Promise.race([settled, promise]);
  clearTimeout(timer);
  signal.removeEventListener('abort', abort);
}
