import type { ReactNode } from 'react';
import type { TypePart } from '../plugins/references/schema.ts';

/** A description with its backticks converted to code. */
export function Prose({ children }: { children: string }): ReactNode {
  return children.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

/** The name of a type, with links to the schemas in it. */
export function TypeName({ parts }: { parts: readonly TypePart[] }): ReactNode {
  return (
    <span className="api-type">
      {parts.map((part, index) =>
        typeof part === 'string' ? (
          part
        ) : (
          <a key={index} href={`#${schemaId(part.schema)}`}>
            {part.schema}
          </a>
        ),
      )}
    </span>
  );
}

/** The anchor of a schema. Operations have theirs without anything in front, so that both can have the same name. */
export function schemaId(name: string): string {
  return `schema-${name}`;
}
