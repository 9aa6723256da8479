import { isObject } from '../jsonrpc/message.ts';
import {
  Unreadable,
  list,
  object,
  optional,
  optionalObject,
  record,
  repaired,
  text,
  withChanges,
} from './shapes.ts';
import type { Repair } from './shapes.ts';

const number: Repair = (value) => {
  const isNumeral = typeof value === 'string' && value.length < 40 && value.trim() !== '';
  const after = isNumeral ? Number(value) : value;
  return typeof after === 'number' && Number.isFinite(after) ? after : undefined;
};

const isNumber = optional((value) => typeof value === 'number');
const names = list((value) => (typeof value === 'string' ? value : undefined));

const samplingMessage: Repair = (value) => {
  if (!isObject(value) || typeof value['content'] !== 'string') return value;
  return withChanges(value, new Map([['content', { type: 'text', text: value['content'] }]]));
};

const sampling = object({
  messages: (value, parent) => (Array.isArray(value) ? list(samplingMessage)(value, parent) : value),
  modelPreferences: optionalObject({
    hints: list(optionalObject({ name: text })),
    costPriority: isNumber,
    speedPriority: isNumber,
    intelligencePriority: isNumber,
  }),
  systemPrompt: text,
  includeContext: text,
  temperature: isNumber,
  stopSequences: names,
  metadata: record,
  tools: optional(Array.isArray),
  toolChoice: record,
});

/** The object without members that are null. */
function withoutNull(value: Record<string, unknown>): Record<string, unknown> {
  const empty = Object.keys(value).filter((name) => value[name] === null);
  return empty.length === 0 ? value : withChanges(value, new Map(empty.map((name) => [name, undefined])));
}

/** A form's field. Python writes one that may be left out as a choice between its type and null. */
const field: Repair = (value) => {
  if (!isObject(value)) return value;
  const { anyOf, ...others } = value;
  const choices: unknown[] = Array.isArray(anyOf) ? anyOf : [];
  const types = choices.filter((choice) => !isObject(choice) || choice['type'] !== 'null');
  const [only] = types;
  if (types.length === choices.length || types.length !== 1 || !isObject(only)) return withoutNull(value);
  return withoutNull({ ...only, ...others });
};

const form: Repair = (value) => {
  if (!isObject(value)) return value;
  const schema = withoutNull(value);
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const changed = Object.entries(properties).flatMap(([name, before]): [string, unknown][] => {
    const after = repaired(before, field);
    return after === before ? [] : [[name, after]];
  });
  if (changed.length === 0) return schema;
  return withChanges(schema, new Map([['properties', withChanges(properties, new Map(changed))]]));
};

/** The parameters that clients refuse in requests and notifications of servers, by method. */
const messages: Readonly<Record<string, Repair>> = {
  'notifications/progress': object({ progress: number, total: number, message: text }),
  'sampling/createMessage': sampling,
  'elicitation/create': object({
    mode: text,
    url: text,
    elicitationId: text,
    requestedSchema: form,
    task: record,
  }),
};

/** Returns the parameters of a server's request or notification in a form that clients can read, the same ones if they can read them. */
export function readableParams(method: string, params: Record<string, unknown>): Record<string, unknown> {
  const repair = Object.hasOwn(messages, method) ? messages[method] : undefined;
  const after = repair === undefined ? params : repaired(params, repair);
  return after instanceof Unreadable || !isObject(after) ? params : after;
}
