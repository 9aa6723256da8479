import { hash } from 'node:crypto';
import { answerWith, idText, readMessage } from './message.ts';
import type { Message, RepeatedAnswer } from './message.ts';

/** Reading a shorter answer again costs less than looking it up. */
const minChars = 8 * 1024;
/** How much is kept in total. */
const maxAnswers = 64;
const maxChars = 2 * 1024 * 1024;

/** How the SDKs for servers begin or end an answer, with the ID in front of everything else or behind it. */
const withIdFirst = /^\{"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14}),"result":/;
const withIdLast = /,"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14})\}$/;
const maxHead = 60;

/** The latest long answers of all servers by their text without the ID. The least recently used one is first. */
const answers = new Map<string, RepeatedAnswer>();
let chars = 0;

/**
 * Reads an answer of a server. A long answer is read once, and then recognized while only its ID changes, if
 * `isRepeated` says of its ID that such answers are usually the same. Throws `MalformedMessage`.
 */
export function readAnswer(text: string, isRepeated: (id: number) => boolean): Message {
  const place = text.length < minChars ? undefined : placeOf(text);
  if (place === undefined || !isRepeated(Number(text.slice(...place)))) return readMessage(text);
  const [start, end] = place;
  // Of these two parts, one is always the same, because the expressions above allow nothing else.
  const key = start < maxHead ? text.slice(end) : text.slice(0, start);
  const known = answers.get(key);
  if (known !== undefined) {
    answers.delete(key);
    answers.set(key, known);
    return answerWith(known, text.slice(start, end));
  }
  const message = readMessage(text);
  if (message.kind !== 'response') return message;
  const repeated = repeatedOf(message);
  remember(key, repeated);
  return answerWith(repeated, idText(message));
}

/** Returns `transform` for answers, which is called once for an answer that is repeated. Only the answer may count. */
export function oncePerAnswer(transform: (answer: Message) => Message): (answer: Message) => Message {
  const known = new WeakMap<RepeatedAnswer, RepeatedAnswer>();
  return (answer) => {
    if (answer.repeated === undefined) return transform(answer);
    const { answer: repeated, id } = answer.repeated;
    const before = known.get(repeated);
    if (before !== undefined) return answerWith(before, id);
    const outcome = transform(answer);
    known.set(repeated, outcome.repeated?.answer ?? repeatedOf(outcome));
    return outcome;
  };
}

const digests = new WeakMap<RepeatedAnswer, string>();

/** Returns a SHA-256 hash of everything but the ID, which differs in each answer. */
export function digestOf({ text, id, repeated }: Message): string {
  const known = repeated && digests.get(repeated.answer);
  if (known !== undefined) return known;
  const [start, end] = id ?? [0, 0];
  const digest = hash('sha256', `${text.slice(0, start)}\n${text.slice(end)}`);
  if (repeated !== undefined) digests.set(repeated.answer, digest);
  return digest;
}

function placeOf(text: string): [start: number, end: number] | undefined {
  const head = text.slice(0, maxHead);
  const first = withIdFirst.exec(head)?.[1];
  if (first !== undefined) {
    const start = head.indexOf(first, '{"jsonrpc":"2.0","id":'.length);
    return [start, start + first.length];
  }
  const last = withIdLast.exec(text.slice(-maxHead))?.[1];
  return last === undefined ? undefined : [text.length - 1 - last.length, text.length - 1];
}

/** Returns what an answer has in common with the same answer to other requests. Its value cannot be changed any more. */
export function repeatedOf({ text, value, id = [0, 0] }: Message): RepeatedAnswer {
  const { id: _id, ...others } = value;
  return freeze({ before: text.slice(0, id[0]), after: text.slice(id[1]), value: others });
}

/** All requests share the answer, so none of them may change it. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
  return value;
}

function remember(key: string, repeated: RepeatedAnswer): void {
  if (key.length > maxChars) return;
  answers.set(key, repeated);
  chars += key.length;
  for (const oldest of answers.keys()) {
    if (answers.size <= maxAnswers && chars <= maxChars) return;
    answers.delete(oldest);
    chars -= oldest.length;
  }
}
