import { isObject } from '../jsonrpc/message.ts';

/** A value that clients cannot read, and that has no other form with the same meaning. */
export class Unreadable {
  /** Continues "the tool x is left out, because". */
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/**
 * Returns the value itself if clients can read it, and otherwise another form with the same meaning: `undefined` if the
 * member means nothing, `Unreadable` if there is none. Never changes the value.
 */
export type Repair = (value: unknown, parent: Record<string, unknown>) => unknown;

/** The parent of values outside of objects. */
const none: Record<string, unknown> = {};

/** Repairs a value outside of objects. */
export function repaired(value: unknown, repair: Repair): unknown {
  return repair(value, none);
}

/** An object, with the repairs of its members. Other members stay as they are. */
export function object(members: Readonly<Record<string, Repair>>): Repair {
  const all = Object.entries(members);
  return (value) => {
    if (!isObject(value)) return new Unreadable(`it is ${kindOf(value)} instead of an object`);
    let changes: Map<string, unknown> | undefined;
    for (const [name, repair] of all) {
      const before = value[name];
      const after = repair(before, value);
      if (after === before) continue;
      if (after instanceof Unreadable) return new Unreadable(`its ${name} ${after.reason}`);
      changes ??= new Map();
      changes.set(name, after);
    }
    return changes === undefined ? value : withChanges(value, changes);
  };
}

/** The objects that others were made from at first. */
const origins = new WeakMap<object, object>();

/** Returns the object that a repaired one was made from, and other values as they are. */
export function originOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (origins.get(value) ?? value) : value;
}

/** Returns the object with other members. Those that become undefined are left out. */
export function withChanges(
  value: Record<string, unknown>,
  changes: ReadonlyMap<string, unknown>,
): Record<string, unknown> {
  const all = [...new Map([...Object.entries(value), ...changes])];
  const changed = Object.fromEntries(all.filter(([, member]) => member !== undefined));
  origins.set(changed, origins.get(value) ?? value);
  return changed;
}

/** A list without the elements that cannot be read. Something else is none. */
export function list(element: Repair): Repair {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const all: unknown[] = value;
    const first = all.findIndex((one) => repaired(one, element) !== one);
    if (first === -1) return value;
    const others = all.slice(first).map((one) => repaired(one, element));
    const kept = others.filter((after) => after !== undefined && !(after instanceof Unreadable));
    return [...all.slice(0, first), ...kept];
  };
}

/** A member that may be absent, and is left out if it has a wrong type. */
export function optional(is: (value: unknown) => boolean): Repair {
  return (value) => (is(value) ? value : undefined);
}

/** The same for a member with parts. */
export function optionalObject(members: Readonly<Record<string, Repair>>): Repair {
  const whole = object(members);
  return (value, parent) => {
    const after = isObject(value) ? whole(value, parent) : undefined;
    return after instanceof Unreadable ? undefined : after;
  };
}

export const text: Repair = optional((value) => typeof value === 'string');
export const record: Repair = optional(isObject);

/** The metadata of a result. Clients refuse all of it because of a wrong progress token. */
export const metadata: Repair = optionalObject({
  progressToken: optional((token) => typeof token === 'string' || typeof token === 'number'),
});

export const requiredText: Repair = (value) =>
  typeof value === 'string' ? value : new Unreadable(`is ${kindOf(value)} instead of a string`);

/** Describes a value without its content, which may be long or private. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'an object';
  return `a ${typeof value}`;
}
