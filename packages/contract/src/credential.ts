import { tokenFormats } from './token-formats.ts';

const credentialName =
  /(^|[_.-])(api[_.-]?key|access[_.-]?key|secret|token|password|passwd|pwd|passphrase|credentials?|private[_.-]?key|auth|authorization|pat|bearer)($|[_.-])|(apikey|token|secret|password|_key|[_-]pass)$|^pass$/i;

/** Says nothing about paths, switches, and numbers: those are settings. */
const plainValue = /^(true|false|yes|no|on|off|none|null|\d{1,6}|[./~].*|[A-Za-z]:\\.*)?$/i;

/** The same in a longer text, such as the JSON of all headers. */
const within = new RegExp(
  `(?:^|[\\s"'=:,;{[(])(?:${tokenFormats.map(({ pattern }) => pattern).join('|')})|\\b(?:Bearer|Basic)\\s+[^\\s"'$<{]{6,}`,
);
/** Begins only at the start of a word, because it would otherwise try each part of a long one. */
const member =
  /(?<![\w-])["']?[\w-]*(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|authorization|private[_-]?key)["']?\s*:\s*["'][^"'$<{]{4,}["']/i;
/** A password in a URL, or in a connection string of other forms. */
const connection = /:\/\/[^/\s:@]*:[^/\s@]+@|(?:^|[;\s])(?:password|pwd|accountkey|sharedaccesskey)=[^;\s]+/i;

/** Whether a variable or header looks like a credential, by its name or its value. */
export function isCredential(name: string, value: string): boolean {
  if (plainValue.test(value)) return false;
  const text = value.slice(0, 10_000); // a part that is longer is no token
  if (within.test(text) || member.test(text)) return true;
  return credentialName.test(name) || connection.test(text);
}

const mask = '***';

const placeholder = /^\$?\{[^{}"]*\}$/;

function isShown(name: string, value: string): boolean {
  return placeholder.test(value) || !isCredential(name, value);
}

/** Returns the text that takes the place of a credential. The name is that of its flag, parameter, or header, if any. */
export type Replace = (name: string, value: string) => string;

const isUrl = (text: string): boolean => /^[a-z][\w+.-]*:\/\//i.test(text);

/** Arguments with something else in the places of their credentials. */
export function replaceCredentials(args: readonly string[], replace: Replace): string[] {
  return args.map((arg, index) => {
    const [, flag = ''] = /^--?([\w-]+)$/.exec(args[index - 1] ?? '') ?? [];
    if (isUrl(arg)) return replaceUrlCredentials(arg, replace);
    if (flag !== '' && !isShown(flag, arg)) {
      const [, header = '', value = arg] = /^([\w-]+:\s*)?(.*)$/s.exec(arg) ?? [];
      return `${header}${replace(header.replace(/:\s*$/, '') || flag, value)}`;
    }
    const [, start = '', name = '', value = arg] = /^((?:--?)?([\w.-]+)\s*[=:]\s*)(.*)$/s.exec(arg) ?? [];
    if (isUrl(value)) return `${start}${replaceUrlCredentials(value, replace)}`;
    return isShown(name, value) ? arg : `${start}${replace(name, value)}`;
  });
}

/**
 * A URL with something else in the places of the credentials before its host, in its path, and in its parameters. A package
 * name has none: `npx://server@latest`. Its source address can have some.
 */
export function replaceUrlCredentials(url: string, replace: Replace): string {
  const [, scheme, source = ''] = /^((?:npx|uvx|go):\/\/)(.*)$/s.exec(url) ?? [];
  if (scheme !== undefined) return isUrl(source) ? `${scheme}${replaceUrlCredentials(source, replace)}` : url;
  return url
    .replace(/^([\w+.-]+:\/\/)([^/@]+)@/, (_whole, start: string, value: string) =>
      placeholder.test(value) ? `${start}${value}@` : `${start}${replace('login', value)}@`,
    )
    .replaceAll(
      /(?<!:\/)\/((?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,})(?=[/?#]|$)/g,
      (_whole, value: string) => `/${replace('key', value)}`,
    )
    .replaceAll(/([?&])([\w.-]+)=([^&#]*)/g, (whole: string, start: string, name: string, value: string) =>
      value === '' ||
      placeholder.test(value) ||
      (isShown(name, value) && !(/(?:key|sig|code)$/i.test(name) && !plainValue.test(value)))
        ? whole
        : `${start}${name}=${replace(name, value)}`,
    );
}

/** Arguments for people. A terminal or a log keeps its output, so no credential appears. */
export function withoutCredentials(args: readonly string[]): string[] {
  return replaceCredentials(args, () => mask);
}

/** A URL for people, without credentials before its host, in its path, and in its parameters. */
export function urlWithoutCredentials(url: string): string {
  return replaceUrlCredentials(url, () => mask);
}
