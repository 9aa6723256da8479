import { Fragment } from 'react';
import type { ReactNode } from 'react';
import { unprintable } from '@toolhive/contract/printable';

/** The longest text that is shown at once. */
export const maxLength = 20_000;

const hidden = unprintable();

/**
 * Shows text that a server, a registry, or a client wrote. Characters that cannot be seen are shown as their code
 * points, and the text cannot change the direction of the surrounding text.
 */
export function ForeignText({ children }: { children: string }): ReactNode {
  const isLong = children.length > maxLength;
  const text = isLong ? children.slice(0, maxLength) : children;
  return (
    <bdi>
      {marked(text)}
      {isLong && <span className="quiet"> … {children.length - maxLength} more characters</span>}
    </bdi>
  );
}

function marked(text: string): ReactNode {
  if (text.search(hidden) === -1) return text;
  const parts: ReactNode[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(hidden)) {
    parts.push(
      <Fragment key={index}>
        {text.slice(end, index)}
        <span className="hidden-character" title="A character that cannot be seen">
          {codePoint(character)}
        </span>
      </Fragment>,
    );
    end = index + character.length;
  }
  return [...parts, text.slice(end)];
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The same as plain text, for attributes and for clipboard text that is displayed elsewhere. */
export function plainForeign(text: string): string {
  return text
    .slice(0, maxLength)
    .replace(hidden, (character) => `[${codePoint(character)}]`)
    .slice(0, maxLength);
}

/**
 * A link to an address that a server or a registry wrote. The address is visible, and only web addresses are links.
 */
export function ForeignLink({ url, children }: { url: string; children?: string }): ReactNode {
  const parsed = URL.parse(url);
  const label = children === undefined ? null : <ForeignText>{children}</ForeignText>;
  if (
    parsed === null ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username !== '' ||
    parsed.password !== ''
  ) {
    return (
      <>
        {label}{' '}
        <code>
          <ForeignText>{url}</ForeignText>
        </code>
      </>
    );
  }
  return (
    <a href={parsed.href} target="_blank" rel="noopener noreferrer nofollow">
      {label ?? <ForeignText>{parsed.href}</ForeignText>}
      {label !== null && <span className="quiet"> ({parsed.host})</span>}
    </a>
  );
}
