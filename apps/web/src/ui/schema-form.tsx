import { useEffect, useId, useState } from 'react';
import type { ReactNode } from 'react';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import type { Values } from '../api/mcp.ts';
import { asObject, asText } from '../api/mcp.ts';
import { Field } from './fields.tsx';
import type { FieldAttributes } from './fields.tsx';
import { controlFor, initialValue, isNullable, resolve } from './schema.ts';
import type { Control } from './schema.ts';
import { ForeignText, plainForeign } from './text.tsx';
import type { Problems } from './validate.ts';

interface FormProps {
  schema: unknown;
  value: unknown;
  onChange: (value: unknown) => void;
  /** By JSON pointer into the value. */
  problems: Problems;
}

/** More fields than these, and deeper ones, are entered as JSON. */
const maxFields = 200;
const maxDepth = 8;

/** Whether a schema describes a value without any members (a tool without arguments). */
export function isWithoutMembers(schema: unknown): boolean {
  const { type, properties, additionalProperties, patternProperties, ...rest } = resolve(schema, schema);
  const isOpen = typeof additionalProperties === 'object' || additionalProperties === true;
  return (
    (type === undefined || type === 'object') &&
    Object.keys(asObject(properties)).length === 0 &&
    !isOpen &&
    patternProperties === undefined &&
    !['oneOf', 'anyOf', 'required', 'enum', 'const', 'if'].some((keyword) => keyword in rest)
  );
}

/** A form for a value that a JSON Schema (2020-12) describes. Texts of the schema come from a server. */
export function SchemaForm({ schema, value, onChange, problems }: FormProps): ReactNode {
  const resolved = resolve(schema, schema);
  const control = controlFor(resolved, schema);
  if (control.kind !== 'object') {
    return (
      <JsonField label="Value" value={value} onChange={onChange} pointer="" problems={problems} isRequired />
    );
  }
  return <Fields {...{ control, root: schema, value, onChange, problems }} pointer="" depth={0} />;
}

interface PartProps {
  schema: Values;
  root: unknown;
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  problems: Problems;
  pointer: string;
  isRequired: boolean;
  depth: number;
}

function Fields({
  control,
  root,
  value,
  onChange,
  problems,
  pointer,
  depth,
}: Pick<PartProps, 'root' | 'value' | 'onChange' | 'problems' | 'pointer' | 'depth'> & {
  control: Extract<Control, { kind: 'object' }>;
}): ReactNode {
  const values = asObject(value);
  const shown = control.properties.slice(0, maxFields);
  return (
    <>
      {shown.length === 0 && <p className="quiet">No arguments.</p>}
      {shown.map(([name, part]) => (
        <Part
          key={name}
          schema={part}
          root={root}
          name={name}
          value={Object.hasOwn(values, name) ? values[name] : undefined}
          onChange={(next) => onChange(withMember(values, name, next))}
          problems={problems}
          pointer={`${pointer}${jsonPointer([name])}`}
          isRequired={control.required.has(name)}
          depth={depth}
        />
      ))}
    </>
  );
}

/** A member without a value is left out, as an optional argument should be. */
function withMember(values: Values, name: string, next: unknown): Values {
  const entries = Object.entries(values).filter(([key]) => key !== name);
  // From entries, so that a member called __proto__ is an ordinary one.
  return Object.fromEntries(next === undefined ? entries : [...entries, [name, next]]);
}

function Part(props: PartProps): ReactNode {
  const { root, name, value, onChange, problems, pointer, isRequired, depth } = props;
  const schema = resolve(props.schema, root);
  const control = depth > maxDepth ? ({ kind: 'json' } as const) : controlFor(schema, root);
  const label = typeof schema['title'] === 'string' ? schema['title'] : name;
  const description = typeof schema['description'] === 'string' ? schema['description'] : undefined;
  const common = { label, description, pointer, problems, isRequired };
  if (value === null && isNullable(schema)) {
    return (
      <Labelled {...common}>
        {(attributes) => (
          <span className="inline-fields">
            <input {...attributes} value="null" readOnly />
            <button type="button" onClick={() => onChange(undefined)}>
              Enter a value
            </button>
          </span>
        )}
      </Labelled>
    );
  }
  const nullable = isNullable(schema) ? () => onChange(null) : undefined;
  switch (control.kind) {
    case 'text':
      return (
        <TextField {...common} {...{ value, onChange, nullable }} format={control.format} schema={schema} />
      );
    case 'number':
      return <NumberField {...common} {...{ value, onChange, nullable }} isInteger={control.isInteger} />;
    case 'boolean':
      return (
        <Labelled {...common}>
          {(attributes) => (
            <select
              {...attributes}
              value={value === undefined ? '' : asText(value)}
              onChange={({ target }) => onChange(target.value === '' ? undefined : target.value === 'true')}
            >
              <option value="">{isRequired ? 'Choose' : 'Not set'}</option>
              <option value="true">Yes</option>
              <option value="false">No</option>
            </select>
          )}
        </Labelled>
      );
    case 'choice': {
      const index = control.options.findIndex(
        (option) => JSON.stringify(option.value) === JSON.stringify(value),
      );
      return (
        <Labelled {...common}>
          {(attributes) => (
            <select
              {...attributes}
              value={index}
              onChange={({ target }) => onChange(control.options[Number(target.value)]?.value)}
            >
              <option value={-1}>{isRequired ? 'Choose' : 'Not set'}</option>
              {control.options.map(({ title }, position) => (
                <option key={position} value={position}>
                  {plainForeign(title)}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      );
    }
    case 'object':
      return (
        <fieldset>
          <legend>
            <ForeignText>{label}</ForeignText>
            {isRequired && <span className="quiet"> required</span>}
          </legend>
          {description !== undefined && (
            <p className="hint quiet">
              <ForeignText>{description}</ForeignText>
            </p>
          )}
          {value === undefined && !isRequired ? (
            <button type="button" onClick={() => onChange(initialValue(schema, root) ?? {})}>
              Add
            </button>
          ) : (
            <>
              <Fields {...{ control, root, value, onChange, problems, pointer }} depth={depth + 1} />
              {!isRequired && (
                <button type="button" onClick={() => onChange(undefined)}>
                  Remove
                </button>
              )}
            </>
          )}
          <Problem problems={problems} pointer={pointer} />
        </fieldset>
      );
    case 'list':
      return (
        <ListField {...props} schema={schema} items={control.items} label={label} description={description} />
      );
    case 'variants':
      return <VariantField {...props} schema={schema} variants={control.variants} label={label} />;
    case 'json':
      return <JsonField {...common} {...{ value, onChange }} />;
  }
}

interface LabelledProps {
  label: string;
  description?: string | undefined;
  pointer: string;
  problems: Problems;
  isRequired: boolean;
  children: (attributes: FieldAttributes) => ReactNode;
}

function Labelled({ label, description, pointer, problems, isRequired, children }: LabelledProps): ReactNode {
  return (
    <Field
      label={<ForeignText>{label}</ForeignText>}
      hint={description === undefined ? undefined : <ForeignText>{description}</ForeignText>}
      pointer={pointer}
      problem={problems[pointer]}
      isRequired={isRequired}
    >
      {children}
    </Field>
  );
}

function Problem({ problems, pointer }: { problems: Problems; pointer: string }): ReactNode {
  const problem = problems[pointer];
  return problem === undefined ? null : (
    <span className="problem">
      {' '}
      <ForeignText>{problem}</ForeignText>
    </span>
  );
}

/** The types of text fields that browsers have for formats of JSON Schema. */
const inputTypes: Record<string, string> = { date: 'date', time: 'time', email: 'email', uri: 'url' };

function TextField({
  value,
  onChange,
  format,
  schema,
  nullable,
  ...common
}: Omit<LabelledProps, 'children'> & {
  value: unknown;
  onChange: (value: unknown) => void;
  format: string | undefined;
  schema: Values;
  nullable: (() => void) | undefined;
}): ReactNode {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  // A required text may be empty, but an optional one is left out.
  const change = (next: string): void => onChange(next === '' && !common.isRequired ? undefined : next);
  const isLong = format === undefined && (text.includes('\n') || Number(schema['maxLength'] ?? 0) > 200);
  return (
    <Labelled {...common}>
      {(attributes) => (
        <span className="inline-fields">
          {isLong ? (
            <textarea {...attributes} value={text} onChange={({ target }) => change(target.value)} />
          ) : (
            <input
              {...attributes}
              type={inputTypes[format ?? ''] ?? 'text'}
              placeholder={format === 'date-time' ? '2026-01-31T09:30:00Z' : undefined}
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={({ target }) => change(target.value)}
            />
          )}
          {nullable !== undefined && <NullButton onClick={nullable} label={common.label} />}
        </span>
      )}
    </Labelled>
  );
}

function NullButton({ onClick, label }: { onClick: () => void; label: string }): ReactNode {
  return (
    <button type="button" onClick={onClick} aria-label={`Set ${plainForeign(label)} to null`}>
      null
    </button>
  );
}

function NumberField({
  value,
  onChange,
  isInteger,
  nullable,
  ...common
}: Omit<LabelledProps, 'children'> & {
  value: unknown;
  onChange: (value: unknown) => void;
  isInteger: boolean;
  nullable: (() => void) | undefined;
}): ReactNode {
  const [text, setText] = useState(() => (value === undefined ? '' : asText(value)));
  useEffect(() => {
    setText((current) =>
      readNumber(current) === value ? current : value === undefined ? '' : asText(value),
    );
  }, [value]);
  const problem = text === '' ? undefined : numberProblem(text, isInteger);
  return (
    <Labelled
      {...common}
      problems={problem === undefined ? common.problems : { ...common.problems, [common.pointer]: problem }}
    >
      {(attributes) => (
        <span className="inline-fields">
          <input
            {...attributes}
            inputMode={isInteger ? 'numeric' : 'decimal'}
            autoComplete="off"
            value={text}
            onChange={({ target }) => {
              setText(target.value);
              // A text that is not an exact number stays in the value, so that the check reports it.
              onChange(target.value === '' ? undefined : (readNumber(target.value) ?? target.value));
            }}
          />
          {nullable !== undefined && <NullButton onClick={nullable} label={common.label} />}
        </span>
      )}
    </Labelled>
  );
}

/** A number that is sent exactly as typed. Undefined for other text. */
function readNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(trimmed)) return undefined;
  const value = Number(trimmed);
  const isExact = /^-?\d+$/.test(trimmed) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isExact ? value : undefined;
}

function numberProblem(text: string, isInteger: boolean): string | undefined {
  const value = readNumber(text);
  if (value === undefined) return 'must be a number that can be represented exactly';
  return isInteger && !Number.isInteger(value) ? 'must be a whole number' : undefined;
}

function ListField({
  schema,
  items,
  label,
  description,
  ...props
}: PartProps & { items: Values; label: string; description: string | undefined }): ReactNode {
  const { root, value, onChange, problems, pointer, isRequired, depth } = props;
  const list: unknown[] = Array.isArray(value) ? value : [];
  const maximum = Number(schema['maxItems'] ?? maxFields);
  return (
    <fieldset>
      <legend>
        <ForeignText>{label}</ForeignText>
        {isRequired && <span className="quiet"> required</span>}
      </legend>
      {description !== undefined && (
        <p className="hint quiet">
          <ForeignText>{description}</ForeignText>
        </p>
      )}
      {list.slice(0, maxFields).map((item, index) => (
        <div key={index} className="inline-fields">
          <Part
            schema={items}
            root={root}
            name={`${label} ${index + 1}`}
            value={item}
            onChange={(next) => onChange(list.with(index, next ?? null))}
            problems={problems}
            pointer={`${pointer}/${index}`}
            isRequired
            depth={depth + 1}
          />
          <button
            type="button"
            aria-label={`Remove ${plainForeign(label)} ${index + 1}`}
            onClick={() => {
              const rest = list.toSpliced(index, 1);
              onChange(rest.length === 0 && !isRequired ? undefined : rest);
            }}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        disabled={list.length >= Math.min(maximum, maxFields)}
        onClick={() => onChange([...list, initialValue(items, root) ?? emptyItem(items, root)])}
      >
        Add an item
      </button>
      <Problem problems={problems} pointer={pointer} />
    </fieldset>
  );
}

function emptyItem(items: Values, root: unknown): unknown {
  const { kind } = controlFor(resolve(items, root), root);
  return {
    text: '',
    number: 0,
    boolean: false,
    object: {},
    list: [],
    choice: null,
    variants: null,
    json: null,
  }[kind];
}

function VariantField({
  variants,
  label,
  ...props
}: PartProps & { variants: readonly { title: string; schema: Values }[]; label: string }): ReactNode {
  const { root, value, onChange, problems, pointer, isRequired } = props;
  const [chosen, setChosen] = useState(0);
  const variant = variants[chosen];
  const id = useId();
  return (
    <fieldset>
      <legend>
        <ForeignText>{label}</ForeignText>
        {isRequired && <span className="quiet"> required</span>}
      </legend>
      <div className="field">
        <label htmlFor={id}>Kind</label>
        <select
          id={id}
          value={chosen}
          onChange={({ target }) => {
            setChosen(Number(target.value));
            onChange(initialValue(variants[Number(target.value)]?.schema, root));
          }}
        >
          {variants.map(({ title }, index) => (
            <option key={index} value={index}>
              {plainForeign(title)}
            </option>
          ))}
        </select>
      </div>
      {variant !== undefined && (
        <Part
          key={chosen}
          {...props}
          schema={variant.schema}
          name={label}
          value={value}
          onChange={onChange}
          depth={props.depth + 1}
        />
      )}
      <Problem problems={problems} pointer={pointer} />
    </fieldset>
  );
}

/** A value as JSON text. Text that is not valid JSON does not change the value. */
export function JsonField({
  value,
  onChange,
  ...common
}: Omit<LabelledProps, 'children'> & { value: unknown; onChange: (value: unknown) => void }): ReactNode {
  const [text, setText] = useState(() => jsonOf(value));
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    setText((current) => (isSame(current, value) ? current : jsonOf(value)));
    setProblem(undefined);
  }, [value]);
  return (
    <Labelled {...common} problems={problem === undefined ? common.problems : { [common.pointer]: problem }}>
      {(attributes) => (
        <textarea
          {...attributes}
          className="json"
          rows={Math.min(maxJsonRows, Math.max(4, text.split('\n').length + 1))}
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            if (target.value.trim() === '') {
              setProblem(undefined);
              onChange(undefined);
              return;
            }
            try {
              onChange(JSON.parse(target.value) as unknown);
              setProblem(undefined);
            } catch {
              setProblem('is not valid JSON');
            }
          }}
        />
      )}
    </Labelled>
  );
}

/** More rows scroll. */
const maxJsonRows = 24;

function jsonOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}

function isSame(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return text.trim() === '' && value === undefined;
  }
}
