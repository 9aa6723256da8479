import { Unreadable, list, object, optional, optionalObject, record, requiredText, text } from './shapes.ts';
import type { Repair } from './shapes.ts';
import { hintNames } from '../protocol/hints.ts';
import { maxPatternChars } from './compilable-schema.ts';
import { inputSchema, outputSchema } from './tool-schemas.ts';

const flag = optional((value) => typeof value === 'boolean');

function oneOf(...names: readonly string[]): Repair {
  return optional((value) => typeof value === 'string' && names.includes(value));
}

const icon = object({
  src: requiredText,
  mimeType: text,
  theme: oneOf('light', 'dark'),
  sizes(value) {
    if (typeof value === 'string') return value.split(/\s+/).filter((size) => size !== '');
    return textList(value, nowhere);
  },
});

const nowhere: Record<string, unknown> = {};
const textList = list((value) => (typeof value === 'string' ? value : undefined));
const roles = list(oneOf('user', 'assistant'));
/** A time with a zone (RFC 3339), as clients require. */
const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Annotations of resources and of contents. */
export const annotations: Repair = optionalObject({
  audience: (value, parent) => (typeof value === 'string' ? roles([value], parent) : roles(value, parent)),
  priority: optional((value) => typeof value === 'number' && value >= 0 && value <= 1),
  lastModified: optional(
    (value) => typeof value === 'string' && time.test(value) && !isNaN(Date.parse(value)),
  ),
});

const described = { title: text, description: text, icons: list(icon), _meta: record };

/** A wrong hint is left out: policies and clients then assume the worst. */
const hints = optionalObject({ title: text, ...Object.fromEntries(hintNames.map((name) => [name, flag])) });
const execution = optionalObject({ taskSupport: oneOf('required', 'optional', 'forbidden') });

/** The tools of one list. */
export function tools(): Repair {
  return object({
    name: requiredText,
    ...described,
    inputSchema,
    outputSchema: outputSchema({ chars: maxPatternChars }),
    annotations: hints,
    execution,
  });
}

const argument = object({
  name: requiredText,
  title: text,
  description: text,
  required(value) {
    if (value === undefined || typeof value === 'boolean') return value;
    return value === 1 || (typeof value === 'string' && /^(?:true|yes|1)$/i.test(value)) ? true : undefined;
  },
});

export const prompt: Repair = object({ name: requiredText, ...described, arguments: list(argument) });

/** The name of a resource is for people, so its title or its address can take its place. */
function nameBy(address: 'uri' | 'uriTemplate'): Repair {
  return (value, { title, [address]: uri }) => {
    if (typeof value === 'string') return value;
    return typeof title === 'string' && title !== '' ? title : requiredText(uri, nowhere);
  };
}

const resourceMembers = { ...described, mimeType: text, annotations };

export const resource: Repair = object({
  uri: requiredText,
  name: nameBy('uri'),
  ...resourceMembers,
  size: optional((value) => typeof value === 'number'),
});

export const template: Repair = object({
  uriTemplate: requiredText,
  name: nameBy('uriTemplate'),
  ...resourceMembers,
});

/** The bytes of a resource, an image, or a sound in Base64. */
export const base64: Repair = (value) => {
  if (typeof value !== 'string') return new Unreadable('is not a string');
  const [, bare = value] = /^data:[^,]{0,200};base64,/.test(value) ? splitOnce(value) : [];
  const plain =
    bare.includes('-') || bare.includes('_') ? bare.replaceAll('-', '+').replaceAll('_', '/') : bare;
  return isBase64(plain) ? plain : new Unreadable('is not Base64');
};

function splitOnce(value: string): [string, string] {
  const at = value.indexOf(',');
  return [value.slice(0, at), value.slice(at + 1)];
}

function isBase64(value: string): boolean {
  // Trimmed, because two groups that can both match the spaces at the end take quadratic time.
  if (!/^[A-Za-z0-9+/\s]*={0,2}$/.test(value.trimEnd())) return false;
  const bare = /\s/.test(value) ? value.replaceAll(/\s/g, '') : value;
  const digits = bare.endsWith('==') ? bare.length - 2 : bare.endsWith('=') ? bare.length - 1 : bare.length;
  return bare.length === digits ? digits % 4 !== 1 : bare.length % 4 === 0;
}

/** The contents of a resource. `uri` is the one that was asked for, if any. */
export function resourceContents(uri: unknown): Repair {
  const members = object({
    uri: (value, parent) => (typeof value === 'string' ? value : requiredText(uri, parent)),
    mimeType: text,
    _meta: record,
    blob: (value) => (value === undefined || value === null ? undefined : base64(value, nowhere)),
    text(value, { blob }) {
      if (typeof value === 'string') return value;
      if (value !== undefined && value !== null) return JSON.stringify(value);
      return blob === undefined || blob === null ? '' : undefined;
    },
  });
  return (value, parent) => members(typeof value === 'string' ? { uri, text: value } : value, parent);
}
