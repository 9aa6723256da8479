import { isCredential } from '@toolhive/contract/credential';
import { exampleIn } from './examples.ts';
import type { Need } from './pasted.ts';
import { substitute } from './placeholders.ts';
import type { Open, Scope } from './placeholders.ts';

export interface Split {
  values: Record<string, string>;
  /** The values that only the user knows. */
  needs: Need[];
  /** The kept values that look like examples. */
  doubts: Need[];
}

/** Divides variables or headers into known values and values that only the user knows. */
export function splitValues(
  kind: 'variable' | 'header',
  given: Readonly<Record<string, string>>,
  scope: Scope,
): Split {
  const split: Split = { values: {}, needs: [], doubts: [] };
  for (const [name, written] of Object.entries(given)) {
    const { text, open } = substitute(withBraces(name, written, scope), scope);
    const [, scheme = '', rest = text] = schemes.exec(text) ?? [];
    const example = open.length > 0 ? undefined : exampleIn(name, rest);
    const whole = { token: rest, name, description: '' };
    if (open.length > 0) split.needs.push(needOf(kind, name, { text, open }));
    else if (example === 'example')
      split.needs.push(needOf(kind, name, { text: scheme + rest, open: [whole] }));
    else {
      split.values[name] = text;
      if (example === 'doubtful')
        split.doubts.push(needOf(kind, name, { text, open: [{ ...whole, token: text }] }));
    }
  }
  return split;
}

/**
 * `$NAME` as the value, maybe after a header scheme, with the braces that make it a placeholder. Some clients replace
 * it and others do not, so it stays as it is if it may be a password. It is a placeholder if the variable exists, or has the
 * same name, or a credential's name.
 */
function withBraces(name: string, written: string, { env }: Scope): string {
  const [, scheme = '', rest = written] = schemes.exec(written) ?? [];
  const [, named] = /^\$env:([A-Za-z_]\w*)$/i.exec(rest.trim()) ?? []; // mcporter and PowerShell
  if (named !== undefined) return `${scheme}\${${named}}`;
  const [, variable] = /^\$([A-Z_][A-Z0-9_]*)$/.exec(rest.trim()) ?? [];
  if (variable === undefined) return written;
  const isMeant =
    variable === name ||
    scheme !== '' ||
    (Object.hasOwn(env, variable) && env[variable] !== undefined) ||
    isCredential(variable, 'value');
  return isMeant ? `${scheme}\${${variable}}` : written;
}

/** The words before the credential of a header. */
const schemes = /^((?:Bearer|Basic|Token|ApiKey|Api-Key|Key|Bot|Negotiate)\s+)(.*)$/is;

/** The description contains no text of the value, which can contain a secret beside the placeholder. */
function needOf(
  kind: 'variable' | 'header',
  name: string,
  { text, open }: { text: string; open: Open[] },
): Need {
  const [first] = open;
  const isWhole = open.length === 1 && first?.token === text;
  const [, scheme = '', rest] = schemes.exec(text) ?? [];
  const names = [...new Set(open.map((each) => each.name))].filter((each) => each !== name);
  const words = names.join(', ');
  const shape = isWhole
    ? ''
    : scheme !== '' && first?.token === rest
      ? `${scheme.trim()}, a space, and ${words === '' ? 'the value' : words}`
      : `contains ${words}`;
  const isOptional = open.every((each) => each.isOptional === true);
  const explained = open.flatMap(({ description }) => (description === '' ? [] : description));
  return {
    kind,
    name,
    description: [shape, ...new Set(explained)].filter((part) => part !== '').join(': '),
    required: !isOptional,
    ...(isOptional ? { isOffered: true } : {}),
    secret: open.every((each) => each.secret !== false),
    template: { text, open: open.map((each) => ({ token: each.token, name: each.name })) },
  };
}
