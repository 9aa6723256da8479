/** How long ago a time was, in words. */
export function ago(time: string | number, now = Date.now()): string {
  const seconds = Math.round((now - new Date(time).getTime()) / 1000);
  if (seconds < 5) return 'just now';
  const [amount, unit] = units
    .map(([unit, size]) => [Math.floor(seconds / size), unit] as const)
    .find(([amount]) => amount >= 1) ?? [0, 'second' as const];
  return relative.format(-amount, unit);
}

/** The time until another one, in words. */
export function remaining(until: string, now = Date.now()): string {
  const minutes = Math.round((new Date(until).getTime() - now) / 60_000);
  if (minutes < 1) return 'less than a minute';
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours > 0 && count(hours, 'hour'), rest > 0 && count(rest, 'minute')].filter(Boolean).join(' ');
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time in the format of the reader's system. */
export function dateTime(time: string | number): string {
  return new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A size in binary units. */
export function bytes(size: number): string {
  const [amount, unit] = ['B', 'KiB', 'MiB', 'GiB', 'TiB'].reduce<[number, string]>(
    ([value, current], next) =>
      current === '' ? [value, next] : value < 1024 ? [value, current] : [value / 1024, next],
    [size, ''],
  );
  return `${amount < 10 && unit !== 'B' ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

/** A count with its noun. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount.toLocaleString('en')} ${amount === 1 ? noun : plural}`;
}

/** A duration in milliseconds, with as many digits as are useful. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A text for people: with their kind of times, and without its mark and its commands, which have buttons here. */
export function withoutCommands(text: string): string {
  const advice = /; to fix it, [^]*?\bthv [a-z][^]*?(?= \(next attempt|; the last output|$)/g;
  const sentences = text
    .replace(/^WARNING: /, '')
    .replaceAll(advice, '')
    .split(/(?<=\.) /);
  return sentences
    .filter((sentence) => !/\bthv [a-z]/.test(sentence))
    .map(inScreenWords)
    .join(' ')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => dateTime(time));
}

/** Quoted parts and words. One pass, because a message can contain long texts of servers. */
const parts = /"[^"]*"|'[^']*'|`[^`]*`|\S+/g;
/** The noun with punctuation around it. Names, paths, and URLs have other characters beside it. */
const noun = /^([([]?)([Ww])orkload(s?)((?:'s)?[.,:;!?)\]]*)$/;

/**
 * A message of the daemon with the noun of the screens, because the API and the commands say *workload* (decision 90).
 * Quoted parts stay as they are: names, paths, and text of servers. So does a name that is the same word.
 */
export function inScreenWords(message: string): string {
  let wasNoun = false;
  return message.replaceAll(parts, (part) => {
    const [, before = '', initial, plural = '', after = ''] = (wasNoun ? null : noun.exec(part)) ?? [];
    wasNoun = initial !== undefined;
    return initial === undefined ? part : `${before}${initial === 'W' ? 'S' : 's'}erver${plural}${after}`;
  });
}

/** A message or a hint as a sentence: it begins with a capital letter and has an end. */
export function sentence(text: string): string {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}

/** The first command in a hint, which a user can paste into a terminal: `thv serve` in "start it with thv serve or thv ui". */
export function commandIn(hint: string): string {
  const [command = hint] =
    /\bthv .*?(?=$|[,;`]|\.(?:\s|$)|\s(?:to|or|and|if|for|from|before|after)\s)/.exec(hint) ?? [];
  return command;
}
