import { useId } from 'react';
import type { ReactNode } from 'react';
import { groups, secrets } from '../api/resources.ts';
import { useResource } from '../api/store.ts';
import { ForeignText } from './text.tsx';
import type { Draft, Mount, NetworkChoice, Variable } from './workload-draft.ts';

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Which source the form asks for; none if it is given. */
  source: 'package' | 'remote' | 'none';
  /** A workload that exists keeps its name. */
  isNameFixed?: boolean;
}

/** The settings of a workload. */
export function WorkloadForm({ draft, onChange, source, isNameFixed = false }: Props): ReactNode {
  const set = (changes: Partial<Draft>): void => onChange({ ...draft, ...changes });
  const isRemote = draft.url !== '' || source === 'remote';
  const { data: allGroups = [] } = useResource(groups);
  return (
    <>
      {source === 'package' && (
        <TextField
          label="Package or image"
          hint="npx://PACKAGE, uvx://PACKAGE, go://MODULE, an image such as ghcr.io/example/server:1.2, or an absolute path behind npx:// or uvx://"
          value={draft.image}
          isRequired
          onChange={(image) => set({ image })}
        />
      )}
      {source === 'remote' && (
        <TextField
          label="URL of the remote server"
          hint="For example https://mcp.example.com/mcp. If the server asks for a sign-in, a browser window opens."
          type="url"
          value={draft.url}
          isRequired
          onChange={(url) => set({ url })}
        />
      )}
      {!isNameFixed && (
        <TextField
          label="Name"
          hint="Letters, digits, dots, dashes, and underscores. By default, the name comes from the source."
          value={draft.name}
          pattern="[a-zA-Z0-9][a-zA-Z0-9._\-]*"
          onChange={(name) => set({ name })}
        />
      )}
      <SelectField
        label="Group"
        value={draft.group}
        options={[...new Set(['default', draft.group, ...allGroups.map(({ name }) => name)])].map((name) => [
          name,
          name,
        ])}
        onChange={(group) => set({ group })}
      />
      {!isRemote && (
        <>
          <Variables variables={draft.variables} onChange={(variables) => set({ variables })} />
          <Mounts mounts={draft.mounts} onChange={(mounts) => set({ mounts })} />
          <NetworkFields draft={draft} set={set} />
          <details>
            <summary>Arguments, limits, and more</summary>
            <AreaField
              label="Arguments"
              hint="One per line."
              value={draft.arguments}
              onChange={(text) => set({ arguments: text })}
            />
            {source === 'package' && (
              <SelectField
                label="Transport"
                value={draft.transport}
                options={[
                  ['', 'stdio, unless the registry knows another one'],
                  ['stdio', 'stdio'],
                  ['streamable-http', 'streamable-http'],
                  ['sse', 'sse'],
                ]}
                onChange={(transport) => set({ transport })}
              />
            )}
            <TextField
              label="Memory limit"
              hint="For example 512m or 2g."
              value={draft.memory}
              pattern="[0-9.]+\s*[kKmMgGtT]?[iI]?[bB]?"
              onChange={(memory) => set({ memory })}
            />
            <TextField
              label="Processor limit"
              hint="The number of processors, for example 0.5 or 2."
              value={draft.cpus}
              pattern="[0-9]+(\.[0-9]+)?"
              onChange={(cpus) => set({ cpus })}
            />
            <SelectField
              label="When the server changes its tools"
              value={draft.toolPinning}
              options={[
                ['warn', 'Warn'],
                ['block', 'Hold the change back until it is approved'],
                ['off', 'Do nothing'],
              ]}
              onChange={(toolPinning) => set({ toolPinning })}
            />
            <label className="choice">
              <input
                type="checkbox"
                checked={draft.isEphemeral}
                onChange={({ target }) => set({ isEphemeral: target.checked })}
              />
              Delete the files that the server stores whenever it stops
            </label>
          </details>
        </>
      )}
    </>
  );
}

function TextField({
  label,
  hint,
  value,
  onChange,
  type = 'text',
  isRequired = false,
  pattern,
}: {
  label: string;
  hint?: string;
  value: string;
  onChange: (value: string) => void;
  type?: string;
  isRequired?: boolean;
  pattern?: string;
}): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isRequired && <span className="quiet"> required</span>}
      </label>
      <input
        id={id}
        type={type}
        value={value}
        required={isRequired}
        pattern={pattern}
        autoComplete="off"
        spellCheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ target }) => onChange(target.value)}
      />
      {hint !== undefined && (
        <span id={`${id}-hint`} className="hint">
          {hint}
        </span>
      )}
    </div>
  );
}

function AreaField({
  label,
  hint,
  value,
  onChange,
}: {
  label: string;
  hint: string;
  value: string;
  onChange: (value: string) => void;
}): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        value={value}
        spellCheck={false}
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => onChange(target.value)}
      />
      <span id={`${id}-hint`} className="hint">
        {hint}
      </span>
    </div>
  );
}

function SelectField({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

const kinds = { text: 'Text', stored: 'Stored secret', 'new-secret': 'New secret' } as const;

function Variables({
  variables,
  onChange,
}: {
  variables: readonly Variable[];
  onChange: (variables: readonly Variable[]) => void;
}): ReactNode {
  const { data } = useResource(secrets);
  const stored = data?.keys ?? [];
  const base = useId();
  return (
    <fieldset>
      <legend>Environment variables and secrets</legend>
      {variables.map((variable, index) => {
        const { name, kind, value, description, isRequired = false, isFixed = false } = variable;
        const id = `${base}-${index}`;
        const set = (changes: Partial<Variable>): void =>
          onChange(variables.with(index, { ...variable, ...changes }));
        const label = name === '' ? `Variable ${index + 1}` : name;
        return (
          <div key={isFixed ? name : index} className="field">
            {isFixed && (
              <label htmlFor={id}>
                <ForeignText>{name}</ForeignText>
                {isRequired && <span className="quiet"> required</span>}
              </label>
            )}
            <div className="inline-fields">
              {!isFixed && (
                <input
                  aria-label={`Name of variable ${index + 1}`}
                  placeholder="NAME"
                  pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
                  value={name}
                  autoComplete="off"
                  onChange={({ target }) => set({ name: target.value })}
                />
              )}
              <select
                aria-label={`Kind of ${label}`}
                value={kind}
                onChange={({ target }) => set({ kind: target.value as Variable['kind'], value: '' })}
              >
                {Object.entries(kinds).map(([option, text]) => (
                  <option key={option} value={option}>
                    {text}
                  </option>
                ))}
              </select>
              {kind === 'stored' ? (
                <select
                  id={id}
                  aria-label={`Secret for ${label}`}
                  required={isRequired}
                  value={value}
                  onChange={({ target }) => set({ value: target.value })}
                >
                  <option value="">Choose a secret</option>
                  {stored.map(({ key }) => (
                    <option key={key}>{key}</option>
                  ))}
                </select>
              ) : (
                <input
                  id={id}
                  aria-label={isFixed ? undefined : `Value of ${label}`}
                  aria-describedby={`${id}-hint`}
                  type={kind === 'new-secret' ? 'password' : 'text'}
                  required={isRequired}
                  value={value}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={({ target }) => set({ value: target.value })}
                />
              )}
              {!isFixed && (
                <button
                  type="button"
                  aria-label={`Remove ${label}`}
                  onClick={() => onChange(variables.toSpliced(index, 1))}
                >
                  Remove
                </button>
              )}
            </div>
            {description !== undefined && (
              <span id={`${id}-hint`} className="hint">
                <ForeignText>{description}</ForeignText>
              </span>
            )}
          </div>
        );
      })}
      <button type="button" onClick={() => onChange([...variables, { name: '', kind: 'text', value: '' }])}>
        Add a variable
      </button>
    </fieldset>
  );
}

function Mounts({
  mounts,
  onChange,
}: {
  mounts: readonly Mount[];
  onChange: (mounts: readonly Mount[]) => void;
}): ReactNode {
  return (
    <fieldset>
      <legend>Files and directories</legend>
      {mounts.length === 0 && <p className="quiet">The server cannot access your files.</p>}
      {mounts.map((mount, index) => {
        const set = (changes: Partial<Mount>): void => onChange(mounts.with(index, { ...mount, ...changes }));
        return (
          <div key={index} className="inline-fields">
            <input
              aria-label={`Path on this machine ${index + 1}`}
              placeholder="/path/on/this/machine"
              pattern="[\/~].*|[A-Za-z]:.*"
              required
              value={mount.source}
              autoComplete="off"
              onChange={({ target }) => set({ source: target.value })}
            />
            <input
              aria-label={`Path for the server ${index + 1}`}
              placeholder="the same path"
              pattern="/.*"
              value={mount.target}
              autoComplete="off"
              onChange={({ target }) => set({ target: target.value })}
            />
            <label className="choice">
              <input
                type="checkbox"
                checked={mount.isReadOnly}
                onChange={({ target }) => set({ isReadOnly: target.checked })}
              />
              Read only
            </label>
            <button
              type="button"
              aria-label={`Remove path ${index + 1}`}
              onClick={() => onChange(mounts.toSpliced(index, 1))}
            >
              Remove
            </button>
          </div>
        );
      })}
      <button
        type="button"
        onClick={() => onChange([...mounts, { source: '', target: '', isReadOnly: true }])}
      >
        Add a path
      </button>
    </fieldset>
  );
}

const networkChoices: readonly (readonly [NetworkChoice, string])[] = [
  ['default', 'What the registry entry allows; for other servers, the public internet on ports 80 and 443'],
  ['none', 'No network'],
  ['public', 'Every public host'],
  ['hosts', 'Only these hosts'],
  ['open', 'Every public host on every port, and private networks where the runtime cannot exclude them'],
];

function NetworkFields({ draft, set }: { draft: Draft; set: (changes: Partial<Draft>) => void }): ReactNode {
  const name = useId();
  return (
    <fieldset>
      <legend>Network</legend>
      {networkChoices.map(([choice, text]) => (
        <label key={choice} className="choice">
          <input
            type="radio"
            name={name}
            checked={draft.network === choice}
            onChange={() => set({ network: choice })}
          />
          {text}
        </label>
      ))}
      {draft.network === 'hosts' && (
        <AreaField
          label="Hosts"
          hint="One per line: api.example.com, *.example.com for all names below, .example.com for both, or an address."
          value={draft.hosts}
          onChange={(hosts) => set({ hosts })}
        />
      )}
      {(draft.network === 'hosts' || draft.network === 'public') && (
        <TextField
          label="Ports"
          hint="Separated by commas."
          value={draft.ports}
          pattern="[0-9, ]*"
          onChange={(ports) => set({ ports })}
        />
      )}
    </fieldset>
  );
}
