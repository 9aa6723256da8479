import type { DaemonEvent } from '@toolhive/contract/event';
import { plainForeign } from '../ui/text.tsx';

/** A notification about an event. The title contains no text of a server. */
export interface Wording {
  title: string;
  body: string;
  /** A later notification with the same tag replaces the earlier one. */
  tag: string;
  /** The screen that a click opens. */
  path: string;
}

const maxBody = 200;
const maxItems = 5;
/** Failures of more workloads than this at once say nothing new. */
const maxFailed = 1_000;

/** Puts events into words: failures, changed tools, and found updates. Each failure has one until it is over. */
export class Wordings {
  readonly #failed = new Set<string>();

  of(event: DaemonEvent): Wording | undefined {
    switch (event.type) {
      case 'workload.changed':
        return this.#failure(event);
      case 'workload.removed':
        this.#failed.delete(event.name);
        return undefined;
      case 'pins.changed':
        return changedTools(event);
      case 'update.found':
        return about(event.name, 'An update is available', `version ${event.version}`);
      default:
        return undefined;
    }
  }

  #failure({
    name,
    status,
    status_context: context = 'the reason is not known',
  }: Extract<DaemonEvent, { type: 'workload.changed' }>): Wording | undefined {
    if (status === 'error' || status === 'unhealthy') {
      if (this.#failed.has(name) || this.#failed.size >= maxFailed) return undefined;
      this.#failed.add(name);
      return about(name, status === 'error' ? 'A server failed' : 'A server does not respond', context);
    }
    // A restart of the same failure passes through `starting`.
    if (status === 'running' || status === 'stopped') this.#failed.delete(name);
    return undefined;
  }
}

function changedTools({
  name,
  changes,
}: Extract<DaemonEvent, { type: 'pins.changed' }>): Wording | undefined {
  if (changes.length === 0) return undefined;
  const isChange = changes.some(({ change }) => change !== 'suspicious');
  const items = changes.slice(0, maxItems).map(({ item, change }) => `${item} (${change})`);
  const more = changes.length - items.length;
  return about(
    name,
    isChange ? 'A server changed its tools' : 'A server has suspicious texts',
    [...items, ...(more > 0 ? [`and ${more} more`] : [])].join(', '),
    '/tools',
  );
}

function about(name: string, title: string, text: string, page = ''): Wording {
  return {
    title,
    body: plainForeign(`${name}: ${text}`).slice(0, maxBody),
    tag: `${title} ${name}`,
    path: `/ui/w/${encodeURIComponent(name)}${page}`,
  };
}
