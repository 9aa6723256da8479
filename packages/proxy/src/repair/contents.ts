import { isObject } from '../jsonrpc/message.ts';
import { annotations, base64, resource, resourceContents } from './items.ts';
import { Unreadable, object, record, repaired, text } from './shapes.ts';
import type { Repair } from './shapes.ts';

const common = { annotations, _meta: record };

/** How the bytes of files begin in Base64. */
const beginnings = [
  ['iVBORw0K', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['SUQz', 'audio/mpeg'],
  ['T2dnUw', 'audio/ogg'],
] as const;

/** The media type that the data itself shows. */
function mediaTypeIn(data: unknown): string {
  if (typeof data !== 'string') return '';
  const [, named] = /^data:([^;,]{1,100})/.exec(data) ?? [];
  const unknown = 'application/octet-stream';
  return named ?? beginnings.find(([beginning]) => data.startsWith(beginning))?.[1] ?? unknown;
}

const media = object({
  data: base64,
  mimeType: (value, { data }) => (typeof value === 'string' ? value : mediaTypeIn(data)),
  ...common,
});

const kinds: Readonly<Record<string, Repair>> = {
  text: object({
    text(value) {
      if (typeof value === 'string') return value;
      return value === undefined || value === null ? '' : JSON.stringify(value);
    },
    ...common,
  }),
  image: media,
  audio: media,
  resource: object({ resource: resourceContents(undefined), ...common }),
  resource_link: resource,
};

/** One part of a result. A part that no client knows is passed on as text, so that the model can read it. */
const content: Repair = (value) => {
  if (value === null) return undefined;
  if (typeof value === 'string') return { type: 'text', text: value };
  if (!isObject(value)) return asText(value);
  const kind = kindOf(value);
  if (kind === undefined) return asText(value);
  const named = kind === value['type'] ? value : { ...value, type: kind };
  const after = repaired(named, kinds[kind] ?? text);
  return after instanceof Unreadable ? asText(value) : after;
};

function kindOf({ type, text: said }: Record<string, unknown>): string | undefined {
  if (type === undefined || type === null) return typeof said === 'string' ? 'text' : undefined;
  const name = typeof type === 'string' ? type.toLowerCase() : '';
  return Object.hasOwn(kinds, name) ? name : undefined;
}

const maxBytesShown = 200;

function asText(value: unknown): { type: 'text'; text: string } {
  const shown = JSON.stringify(value, (name, member: unknown) =>
    (name === 'data' || name === 'blob') && typeof member === 'string' && member.length > maxBytesShown
      ? `${member.length} characters`
      : member,
  );
  return { type: 'text', text: shown };
}

/** The parts of a result: a list, one part alone, or text. */
export const contents: Repair = (value) => {
  if (value === undefined || value === null) return [];
  const all: unknown[] = Array.isArray(value) ? value : [value];
  const after = all.map((one) => repaired(one, content));
  const isSame = all === value && after.every((one, index) => one === all[index]);
  return isSame ? value : after.filter((one) => one !== undefined);
};
