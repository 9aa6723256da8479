import { isObject } from '@toolhive/proxy/message';
import { meta } from '@toolhive/proxy/protocol';
import type { InProcessCall, InProcessResult } from '@toolhive/proxy/in-process-server';
import type { Catalog } from './catalog.ts';
import type { ResourceRoutes } from './resource-routes.ts';
import type { MemberView } from './view.ts';

/** Changes within this time of each other are one change for clients. */
const togetherMs = 100;

interface Listener {
  uris: ReadonlySet<string>;
  notify: (method: string, params: Record<string, unknown>) => void;
}

/** Reports changes to the proxy of the endpoint, which tells the clients that listen. */
export class Listeners implements Disposable {
  readonly #catalog: Catalog;
  readonly #routes: ResourceRoutes;
  readonly #listeners = new Set<Listener>();
  readonly #changed = new Map<string, NodeJS.Timeout>();
  /** The URIs that clients listen to, by server and by the URI that the server knows. */
  #wanted = new Map<string, Map<string, Set<string>>>();
  #following: NodeJS.Timeout | undefined;

  constructor({ catalog, routes }: { catalog: Catalog; routes: ResourceRoutes }) {
    this.#catalog = catalog;
    this.#routes = routes;
  }

  /** Answers `subscriptions/listen`, when the client does not listen any more. */
  async listen(params: Record<string, unknown>, call: InProcessCall): Promise<InProcessResult> {
    const { notifications } = params;
    const asked = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
    const uris = new Set(Array.isArray(asked) ? asked.filter((uri) => typeof uri === 'string') : []);
    const listener: Listener = {
      uris,
      notify: (method, about) => call.notify(method, { ...about, _meta: { [meta.subscriptionId]: call.id } }),
    };
    this.#listeners.add(listener);
    listener.notify('notifications/subscriptions/acknowledged', { notifications: notifications ?? {} });
    this.follow();
    const { promise, resolve } = Promise.withResolvers<void>();
    call.signal.addEventListener('abort', () => resolve(), { once: true });
    if (call.signal.aborted) resolve();
    await promise;
    this.#listeners.delete(listener);
    this.follow();
    return { resultType: 'complete' };
  }

  /** A list has changed. */
  changed(notification: string): void {
    if (this.#changed.has(notification)) return;
    const tell = (): void => {
      this.#changed.delete(notification);
      for (const { notify } of this.#listeners) notify(notification, {});
    };
    this.#changed.set(notification, setTimeout(tell, togetherMs));
  }

  /** A resource of a server has changed, which the server knows under this URI. */
  updated({ member }: MemberView, own: string): void {
    for (const uri of this.#wanted.get(member.name)?.get(own) ?? [])
      for (const { uris, notify } of this.#listeners)
        if (uris.has(uri)) notify('notifications/resources/updated', { uri });
  }

  /**
   * Asks each server for updates of its resources, soon. The proxy listens for all of its clients together, so servers
   * that authenticate their callers are not asked.
   */
  follow(): void {
    this.#following ??= setTimeout(() => {
      this.#following = undefined;
      this.#follow();
    }, togetherMs);
  }

  #follow(): void {
    this.#wanted = new Map();
    for (const uri of new Set([...this.#listeners].flatMap(({ uris }) => [...uris]))) {
      const [first, second] = this.#routes.serversOf(uri);
      if (first === undefined || second !== undefined) continue;
      const { server, own } = first;
      const ofServer = this.#wanted.get(server) ?? new Map<string, Set<string>>();
      this.#wanted.set(server, ofServer.set(own, (ofServer.get(own) ?? new Set()).add(uri)));
    }
    for (const view of this.#catalog.directory.shared)
      view.follow(new Set(this.#wanted.get(view.member.name)?.keys()));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#following);
    for (const timer of this.#changed.values()) clearTimeout(timer);
  }
}
