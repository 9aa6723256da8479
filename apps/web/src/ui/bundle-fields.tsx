import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { BundleDescription, BundleField } from '@toolhive/contract/bundle';
import type { ThvError } from '@toolhive/contract/failure';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import { client } from '../api/client.ts';
import { failureOf } from '../api/store.ts';
import { Action } from './action.tsx';
import { AreaField, SelectField, TextField } from './fields.tsx';
import { Failure } from './states.tsx';
import { ForeignText } from './text.tsx';
import { bundleTarget, linesIn } from './workload-draft.ts';
import type { Draft } from './workload-draft.ts';

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Whether the bundle is read without a click. Reading can download the bundle. */
  isRead?: boolean;
}

/** The values that a bundle asks for. */
export function BundleFields({ draft, onChange, isRead = false }: Props): ReactNode {
  const [bundle, setBundle] = useState<BundleDescription | undefined>();
  const [failure, setFailure] = useState<ThvError | undefined>();
  const { image } = draft;
  const isPlace = image.startsWith('mcpb://');
  // A download takes time, and the user can go on with the form.
  const latest = useRef(draft);
  useEffect(() => {
    latest.current = draft;
  });
  const read = async (): Promise<void> => {
    setFailure(undefined);
    try {
      const found = await client.inspectBundle({ body: { source: image } });
      if (latest.current.image !== image) return;
      setBundle(found);
      onChange(withAnswers(latest.current, found));
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
  };
  const isAsked = useRef(false);
  useEffect(() => {
    if (!isRead || isAsked.current) return;
    isAsked.current = true;
    void read();
  });
  const isCurrent = bundle !== undefined && (!isPlace || bundle.source === image);
  return (
    <fieldset>
      <legend>Bundle</legend>
      {failure !== undefined && <Failure failure={failure} title="Cannot read the bundle" />}
      {!isCurrent && <Action onClick={read}>Read the bundle</Action>}
      {isCurrent && (
        <p>
          <strong>
            <ForeignText>{bundle.title ?? bundle.name}</ForeignText>
          </strong>{' '}
          <ForeignText>{`${bundle.version}. ${bundle.description}`}</ForeignText>
        </p>
      )}
      {isCurrent &&
        bundle.fields.map((field) => (
          <ValueField key={field.key} field={field} draft={draft} onChange={onChange} />
        ))}
    </fieldset>
  );
}

/** The draft for the content that was read. A proposed path is refused until the user repeats it. */
function withAnswers(draft: Draft, { source, fields }: BundleDescription): Draft {
  const before = draft.others.user_config ?? {};
  const answers = fields.flatMap(({ key, proposal, sensitive }) => {
    const value = before[key] ?? (proposal === undefined ? undefined : '');
    return sensitive || value === undefined ? [] : [[key, value] as const];
  });
  return {
    ...draft,
    image: draft.image.startsWith('mcpb://') ? source : draft.image,
    others: { ...draft.others, user_config: Object.fromEntries(answers) },
  };
}

function ValueField({
  field,
  draft,
  onChange,
}: {
  field: BundleField;
  draft: Draft;
  onChange: (draft: Draft) => void;
}): ReactNode {
  const { key, type, title, sensitive, multiple, min, max, default: preset } = field;
  const config = draft.others.user_config ?? {};
  const isRequired = field.required && preset === undefined;
  const set = (value: string | string[]): void => {
    const { [key]: _before, ...others } = config;
    const isLeftOut = value.length === 0 && field.proposal === undefined;
    const user_config = isLeftOut ? others : { ...others, [key]: value.length === 0 ? '' : value };
    onChange({ ...draft, others: { ...draft.others, user_config } });
  };
  const common: Common = {
    label: <ForeignText>{title || key}</ForeignText>,
    hint: <ForeignText>{hintOf(field)}</ForeignText>,
    pointer: jsonPointer(['user_config', key]),
    isRequired,
  };
  if (sensitive) return <SensitiveField {...common} name={bundleTarget(key)} {...{ draft, onChange }} />;
  const value = config[key];
  if (type === 'boolean')
    return (
      <SelectField
        {...common}
        value={String(value ?? '')}
        options={[
          ['', preset === undefined ? 'Not set' : `Default: ${String(preset)}`],
          ['true', 'Yes'],
          ['false', 'No'],
        ]}
        onChange={set}
      />
    );
  if (multiple) return <LinesField {...common} first={[value ?? []].flat().join('\n')} onChange={set} />;
  return (
    <TextField
      {...common}
      type={type === 'number' ? 'number' : 'text'}
      {...(type === 'number' ? { step: 'any', min, max } : {})}
      value={String(value ?? '')}
      onChange={set}
    />
  );
}

interface Common {
  label: ReactNode;
  hint: ReactNode;
  pointer: string;
  isRequired: boolean;
}

/** Several values. The text has empty lines while the user types. */
function LinesField({
  first,
  onChange,
  ...field
}: Common & { first: string; onChange: (values: string[]) => void }): ReactNode {
  const [text, setText] = useState(first);
  return (
    <AreaField
      {...field}
      value={text}
      onChange={(next) => {
        setText(next);
        onChange(linesIn(next));
      }}
    />
  );
}

/** A value that becomes a secret before the server starts. */
function SensitiveField({
  name,
  draft,
  onChange,
  ...field
}: Common & Pick<Props, 'draft' | 'onChange'> & { name: string }): ReactNode {
  const others = draft.variables.filter((variable) => variable.name !== name);
  const value = draft.variables.find((variable) => variable.name === name)?.value ?? '';
  return (
    <TextField
      {...field}
      type="password"
      value={value}
      onChange={(next) =>
        onChange({
          ...draft,
          variables: next === '' ? others : [...others, { name, kind: 'new-secret', value: next }],
        })
      }
    />
  );
}

/** The description by the author, and the expectations of the form. */
function hintOf({
  type,
  description,
  sensitive,
  multiple,
  min,
  max,
  default: preset,
  proposal,
}: BundleField): string {
  const isPath = type === 'directory' || type === 'file';
  return [
    description,
    isPath ? `The absolute path of a ${type}. With :ro at its end, the server can only read it` : '',
    multiple ? 'One value per line' : '',
    min === undefined ? '' : `At least ${min}`,
    max === undefined ? '' : `At most ${max}`,
    preset === undefined || type === 'boolean' ? '' : `By default, ${[preset].flat().join(', ')}`,
    proposal === undefined ? '' : `The bundle proposes ${[proposal].flat().join(', ')}`,
    sensitive ? 'The value becomes a secret' : '',
  ]
    .filter((text) => text !== '')
    .map((text) => `${text.replace(/\.$/, '')}.`)
    .join(' ');
}
