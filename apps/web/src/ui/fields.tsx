import { createContext, useContext, useEffect, useId, useRef, useState } from 'react';
import type { ComponentProps, ReactNode } from 'react';
import type { InputProblem, ThvError } from '@toolhive/contract/failure';
import { ForeignText } from './text.tsx';
import { inScreenWords } from './format.ts';
import { SharedTurn, formHolder, useTurn } from './turn.ts';

/** The problems of the request of a form that its user has not worked on since. */
const Problems = createContext<readonly InputProblem[]>([]);

/**
 * A form that is submitted once at a time: until the promise of `onSubmit` has settled, it cannot be submitted again,
 * and the actions in it do nothing. Its request can fail because of its fields. Each problem of the
 * failure appears beside the field with its JSON pointer until the user changes that field. The first of these fields
 * gets the focus.
 */
export function Form({
  failure,
  onSubmit,
  ...props
}: Omit<ComponentProps<'form'>, 'ref' | 'onSubmit'> & {
  failure?: ThvError | undefined;
  onSubmit?: (form: HTMLFormElement) => unknown;
  ref?: React.RefObject<HTMLFormElement | null>;
}): ReactNode {
  const own = useRef<HTMLFormElement>(null);
  const form = props.ref ?? own;
  const turn = useTurn();
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    setChanged(new Set());
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid="true"][data-pointer]');
    for (let at = first?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true;
    first?.focus();
  }, [failure, form]);
  const problems = failure?.problems ?? [];
  return (
    <Problems
      value={problems.filter(({ pointer = '' }) => ![...changed].some((field) => isAt(pointer, field)))}
    >
      <SharedTurn value={turn}>
        <form
          {...props}
          ref={form}
          onSubmit={(event) => {
            event.preventDefault();
            const { currentTarget } = event;
            turn.run(formHolder, () => onSubmit?.(currentTarget));
          }}
          onChange={({ target }) => {
            const { pointer } = (target as HTMLElement).dataset; // an input of this form
            if (pointer !== undefined && problems.length > 0) setChanged(new Set([...changed, pointer]));
          }}
        />
      </SharedTurn>
    </Problems>
  );
}

/** Whether a JSON pointer refers to a field or to a part of its value. */
function isAt(pointer: string, field: string): boolean {
  return pointer === field || pointer.startsWith(`${field}/`);
}

/** The attributes of the input of a field. */
export interface FieldAttributes {
  id: string;
  required: boolean;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean;
  'data-pointer': string | undefined;
}

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  /** The place of the value in the request, as a JSON pointer. */
  pointer?: string | undefined;
  /** A problem that the page itself has found. */
  problem?: string | undefined;
  isRequired?: boolean | undefined;
}

/** An input with its label, its hint, and its problem. */
export function Field({
  label,
  children,
  ...props
}: FieldProps & { children: (attributes: FieldAttributes) => ReactNode }): ReactNode {
  const { attributes, note } = useField(props);
  return (
    <div className="field">
      <label htmlFor={attributes.id}>
        {label}
        {props.isRequired === true && <span className="quiet"> required</span>}
      </label>
      {children(attributes)}
      {note}
    </div>
  );
}

/** The attributes of an input, and the element with its hint and its problem. For inputs with a label of another kind. */
export function useField({
  hint,
  pointer,
  problem: ownProblem,
  isRequired = false,
}: Omit<FieldProps, 'label'>): {
  attributes: FieldAttributes;
  note: ReactNode;
} {
  const id = useId();
  const found = useContext(Problems).filter(
    (each) => pointer !== undefined && each.pointer !== undefined && isAt(each.pointer, pointer),
  );
  const problem =
    ownProblem ??
    (found.length === 0 ? undefined : found.map(({ detail }) => inScreenWords(detail)).join('. '));
  const hasNote = hint !== undefined || problem !== undefined;
  return {
    attributes: {
      id,
      required: isRequired,
      'aria-describedby': hasNote ? `${id}-hint` : undefined,
      'aria-invalid': problem !== undefined,
      'data-pointer': pointer,
    },
    note: hasNote && (
      <span id={`${id}-hint`} className="hint">
        {hint}
        {problem !== undefined && (
          <span className="problem">
            {' '}
            <ForeignText>{problem}</ForeignText>
          </span>
        )}
      </span>
    ),
  };
}

type InputProps<Element extends 'input' | 'textarea'> = FieldProps &
  Omit<ComponentProps<Element>, 'onChange' | 'value' | 'required'> & {
    value: string;
    onChange: (value: string) => void;
  };

/** A text in one line. */
export function TextField({
  label,
  hint,
  pointer,
  problem,
  isRequired,
  onChange,
  ...input
}: InputProps<'input'>): ReactNode {
  return (
    <Field {...{ label, hint, pointer, problem, isRequired }}>
      {(attributes) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...input}
          {...attributes}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

/** A text in several lines. */
export function AreaField({
  label,
  hint,
  pointer,
  problem,
  isRequired,
  onChange,
  ...area
}: InputProps<'textarea'>): ReactNode {
  return (
    <Field {...{ label, hint, pointer, problem, isRequired }}>
      {(attributes) => (
        <textarea
          spellCheck={false}
          {...area}
          {...attributes}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

/** A choice among a few values. */
export function SelectField({
  value,
  options,
  onChange,
  ...field
}: FieldProps & {
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}): ReactNode {
  return (
    <Field {...field}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={({ target }) => onChange(target.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
