import { setImmediate as nextTurn } from 'node:timers/promises';
import { maxPinnedItems } from '@toolhive/contract/tool-pins';
import type { ApprovedItem } from '@toolhive/contract/tool-pins';
import type { Listing, PinnedKind, Pins, Review } from '@toolhive/proxy/tool-pinning';
import { annotationsIn } from './annotations.ts';
import type { Annotations } from './annotations.ts';
import { differingSkill } from './skill-files.ts';
import type { RecordedSkill } from './skill-files.ts';
import { versionOf } from './difference.ts';

/** A version of an item that a server has listed. */
export interface ListedVersion {
  kind: PinnedKind;
  name: string;
  hash: string;
  isApproved: boolean;
  /** The canonical JSON. */
  content: string;
}

export interface FixedPinsOptions {
  mode: 'warn' | 'block';
  approved: readonly ApprovedItem[];
  /** The fix in refusals, for people. */
  fix: string;
  /** Told of each reviewed answer. Must return immediately. */
  onListed: (versions: readonly ListedVersion[]) => void;
}

/** The longest name that is compared. */
const maxName = 1_000;
/** How long items are examined before everything else gets its turn. */
const turnMs = 4;

interface Pin {
  hashes: ReadonlySet<string>;
  /** The approved contents that the server has listed, by their hashes. */
  contents: Map<string, string>;
  /** Whether the latest listed version is another one. */
  isChanged: boolean;
  annotations?: Annotations | undefined;
}

/**
 * Pins from outside, so that all proxies have the same. Nothing is approved at its first use:
 * an item without a pin is like a changed one.
 */
export class FixedPins implements Pins {
  /** The pins stay the same, but the server's items can differ from them and return to them. */
  version = 0;
  readonly isEnforced: boolean;
  readonly #options: FixedPinsOptions;
  readonly #pins = new Map<string, Pin>();
  /** The listed resources without a pin. Lists may omit resources, so others can be read. */
  readonly #unpinned = new Set<string>();

  constructor(options: FixedPinsOptions) {
    this.#options = options;
    this.isEnforced = options.mode === 'block';
    for (const { kind, name, hashes } of options.approved) {
      const known = this.#pins.get(keyOf(kind, name))?.hashes ?? [];
      const pin = { hashes: new Set([...known, ...hashes]), contents: new Map(), isChanged: false };
      this.#pins.set(keyOf(kind, name), pin);
    }
  }

  async review({ kind, items }: Listing): Promise<Review> {
    const shown: unknown[] = [];
    const versions: ListedVersion[] = [];
    const changed = new Map<Pin, boolean>();
    let isAllApproved = true;
    let started = performance.now();
    for (const { name, content: value } of items) {
      const isNamed = name !== undefined && name.length <= maxName;
      const pin = isNamed ? this.#pins.get(keyOf(kind, name)) : undefined;
      const { content, hash } = versionOf(value);
      const isApproved = pin?.hashes.has(hash) === true;
      if (isNamed) versions.push({ kind, name, hash, isApproved, content });
      if (isNamed && pin === undefined && kind === 'resource' && this.#unpinned.size <= maxPinnedItems)
        this.#unpinned.add(name);
      // A list may contain an item several times.
      if (pin !== undefined) changed.set(pin, changed.get(pin) === true || !isApproved);
      if (isApproved && !pin.contents.has(hash)) {
        pin.contents.set(hash, content);
        pin.annotations = undefined;
      }
      isAllApproved &&= isApproved;
      shown.push(isApproved || !this.isEnforced ? value : undefined);
      if (performance.now() - started < turnMs) continue;
      await nextTurn();
      started = performance.now();
    }
    for (const [pin, isChanged] of changed) {
      if (pin.isChanged !== isChanged) this.version += 1;
      pin.isChanged = isChanged;
    }
    this.#options.onListed(versions);
    return { shown, isSettled: isAllApproved || !this.isEnforced };
  }

  refusalOf(kind: PinnedKind, name: string): string | undefined {
    if (!this.isEnforced) return undefined;
    const pin = this.#pins.get(keyOf(kind, name));
    if (pin?.isChanged === false) return undefined;
    const isFull = this.#unpinned.size > maxPinnedItems;
    if (pin === undefined && kind === 'resource' && !isFull && !this.#unpinned.has(name)) return undefined;
    const what = `the ${kind} ${JSON.stringify(name.slice(0, maxName))}`;
    const problem = pin === undefined ? 'is not pinned' : 'differs from its pin';
    return `${what} ${problem}, and cannot be used; ${this.#options.fix}`;
  }

  refusalOfFile(uri: string, digestsOf: () => readonly string[]): string | undefined {
    if (!this.isEnforced) return undefined;
    const skill = differingSkill(uri, this.#skills(), digestsOf);
    if (skill === undefined) return undefined;
    const what = `the file ${JSON.stringify(uri.slice(0, maxName))}`;
    return `${what} differs from the pinned skill ${JSON.stringify(skill)}, and cannot be used; ${this.#options.fix}`;
  }

  /** The pinned skills that the server has listed. A skill is listed before its files are read. */
  *#skills(): Generator<RecordedSkill> {
    for (const [key, { contents }] of this.#pins)
      if (key.startsWith('skill ') && contents.size > 0)
        yield { uri: key.slice('skill '.length), contents: () => [...contents.values()] };
  }

  annotationsOf(tool: string): Annotations | undefined {
    const pin = this.#pins.get(keyOf('tool', tool));
    if (pin === undefined || pin.contents.size === 0) return undefined;
    return (pin.annotations ??= annotationsIn([...pin.contents.values()]));
  }

  /** Nothing is known before the first list. */
  listedResources(): readonly string[] {
    return [];
  }
}

const keyOf = (kind: PinnedKind, name: string): string => `${kind} ${name}`;
