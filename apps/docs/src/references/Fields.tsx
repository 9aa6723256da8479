import type { ReactNode } from 'react';
import { allowedOf, fieldsOf, rulesOf, typeOf, variantsOf } from '../plugins/references/schema.ts';
import type { Field } from '../plugins/references/schema.ts';
import type { Schema } from '../plugins/references/schema.ts';
import { Prose, TypeName } from './prose.tsx';

/** The fields of a schema. Nested fields are collapsed. */
export function Fields({ schema }: { schema: Schema }): ReactNode {
  const variants = variantsOf(schema);
  if (variants.length > 0) {
    return variants.map(({ name, schema: own }) => (
      <details key={name}>
        <summary>
          <code>{name}</code>
        </summary>
        <Fields schema={own} />
      </details>
    ));
  }
  const { fields } = fieldsOf(schema);
  return fields.length === 0 ? (
    <Rules schema={schema} />
  ) : (
    <ul className="api-fields">
      {fields.map((field) => (
        <FieldItem key={field.name} field={field} />
      ))}
    </ul>
  );
}

/** One field or parameter with its name and type. */
export function FieldItem({ field, remark }: { field: Field; remark?: string }): ReactNode {
  const { name, schema, isRequired } = field;
  const inner = fieldsOf(schema);
  return (
    <li>
      <code>{name}</code> <TypeName parts={typeOf(schema)} />
      {remark !== undefined && <span className="api-remark"> {remark}</span>}
      {isRequired && <span className="api-required"> required</span>}
      {schema.description !== undefined && (
        <p>
          <Prose>{schema.description}</Prose>
        </p>
      )}
      <Rules schema={schema} />
      {inner.fields.length > 0 && (
        <details>
          <summary>
            Fields of <code>{name + inner.suffix}</code>
          </summary>
          <Fields schema={schema} />
        </details>
      )}
    </li>
  );
}

function Rules({ schema }: { schema: Schema }): ReactNode {
  const text = [...rulesOf(schema), ...allowedOf(schema)].join('; ');
  return (
    text !== '' && (
      <p className="api-rules">
        <Prose>{text}</Prose>
      </p>
    )
  );
}
