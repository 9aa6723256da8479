import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipString,
} from '@toolhive/contract/json-text';
import { MalformedMessage, errorCodes, isObject } from './message.ts';

/**
 * Throws `MalformedMessage` for a message that two readers could understand differently: one with a member that
 * appears twice in any object, or, where the protocol defines the members, twice except for case or with the case of a
 * defined member changed. Some readers take the first of several members, some the last, and some ignore case. `text` is
 * known to be JSON. Its value, if it was parsed already, makes usual messages cheaper.
 */
export function requireUnambiguous(text: string, value?: unknown): void {
  if (isObject(value) && isUsual(text, value)) return;
  /** The names in every open object. Undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  let section = '';
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case openBrace:
        open.push(new Set());
        isKeyNext = true;
        break;
      case openBracket:
        open.push(undefined);
        isKeyNext = false;
        break;
      case closeBrace:
      case closeBracket:
        open.pop();
        isKeyNext = false;
        break;
      case comma:
        isKeyNext = open.at(-1) !== undefined;
        break;
      case quote: {
        const end = skipString(text, at);
        if (isKeyNext) {
          const name = nameIn(text, at, end);
          if (open.length === 1) section = name;
          const isDefined = open.length === 1 || (open.length === 2 && section === 'params');
          addName(open.at(-1), name, isDefined);
        }
        isKeyNext = false;
        at = end - 1;
      }
    }
  }
}

/**
 * Whether all names where case counts are defined ones, and no name appears twice anywhere: `JSON.parse` keeps only one of
 * several members of a name, so there are fewer members than colons then.
 */
function isUsual(text: string, value: Record<string, unknown>): boolean {
  for (const name in value) if (!usual.has(name)) return false;
  const { params } = value;
  if (isObject(params)) for (const name in params) if (!usual.has(name)) return false;
  return countMembers(value) === countColons(text);
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const element of value) count += countMembers(element);
  else {
    const members = value as Record<string, unknown>;
    for (const name in members) count += 1 + countMembers(members[name]);
  }
  return count;
}

/** Colons outside strings: one for each member. */
function countColons(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = skipString(text, at) - 1;
    else if (code === colon) count++;
  }
  return count;
}

function nameIn(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1);
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name;
}

function addName(names: Set<string> | undefined, name: string, ignoreCase: boolean): void {
  const known = ignoreCase ? folded(name) : name;
  if (ignoreCase && !usual.has(name) && foldedNames.has(known)) {
    throw new MalformedMessage(
      errorCodes.invalidRequest,
      `the message has a member ${JSON.stringify(name)}, which differs from a defined member only in its case`,
    );
  }
  if (names?.has(known)) {
    const like = ignoreCase ? ' except for case' : '';
    throw new MalformedMessage(
      errorCodes.invalidRequest,
      `the message has two members ${JSON.stringify(name)} that are the same${like}`,
    );
  }
  names?.add(known);
}

/** Members of messages and of their parameters that decide what a message does. */
const defined = [
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  'name',
  'arguments',
  'uri',
  'ref',
  'cursor',
  'notifications',
  'taskId',
  'requestId',
  'progressToken',
  'inputResponses',
  'requestState',
  '_meta',
];

/** Whether a name is none of the others, but would be one of them without regard to case. */
export function isOtherSpelling(name: string, others: readonly string[]): boolean {
  if (others.includes(name)) return false;
  const known = folded(name);
  return others.some((other) => folded(other) === known);
}

/** The names that almost every message has, so that they need not be folded again. */
const usual = new Map(defined.map((name) => [name, fold(name)]));
/** All of them in the form in which others are compared, because a name can be as long as a message. */
const foldedNames = new Set(usual.values());

function folded(name: string): string {
  return usual.get(name) ?? fold(name);
}

/**
 * Some characters, such as the long s and the Kelvin sign, change only under one of the two case conversions, so both
 * are necessary.
 */
function fold(name: string): string {
  return name.toLowerCase().toUpperCase();
}
