import { useId } from 'react';
import type { ComponentProps, ReactNode } from 'react';
import { pageAddress } from '@toolhive/contract/page-address';
import { groups, secrets } from '../api/resources.ts';
import { sentence } from './format.ts';
import { useResource } from '../api/store.ts';
import { AreaField, SelectField, TextField, useField } from './fields.tsx';
import { SecretStore } from './secret-store.tsx';
import { Notice } from './states.tsx';
import { ForeignText } from './text.tsx';
import { BundleFields } from './bundle-fields.tsx';
import { isBundleValue, linesIn, pointerOfMount, pointerOfVariable, withImage } from './workload-draft.ts';
import type { Draft, Mount, NetworkChoice, Variable } from './workload-draft.ts';

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** The kind of source that the form asks for. None if the source is given. */
  source: 'package' | 'remote' | 'none';
  /** A workload that exists keeps its name. */
  isNameFixed?: boolean;
}

/** Why a URL cannot be that of a server, while the user still types it. */
function problemOfUrl(url: string): string | undefined {
  const page = pageAddress(url);
  return page === undefined ? undefined : `${sentence(page.problem)} ${sentence(page.hint)}`;
}

/** A workload's settings. */
export function WorkloadForm({ draft, onChange, source, isNameFixed = false }: Props): ReactNode {
  const set = (changes: Partial<Draft>): void => onChange({ ...draft, ...changes });
  const isRemote = draft.url !== '' || source === 'remote';
  const { data: allGroups = [] } = useResource(groups);
  return (
    <>
      {source === 'package' && (
        <TextField
          label="Package or image"
          pointer="/image"
          hint="npx://PACKAGE, uvx://PACKAGE, go://MODULE, mcpb:///PATH of a bundle, an image such as ghcr.io/example/server:1.2, or an absolute path behind npx:// or uvx://"
          value={draft.image}
          isRequired
          onChange={(image) => onChange(withImage(draft, image))}
        />
      )}
      {source === 'package' && draft.image.startsWith('mcpb://') && (
        <BundleFields draft={draft} onChange={onChange} />
      )}
      {source === 'remote' && (
        <TextField
          label="URL of the remote server"
          pointer="/url"
          hint="For example https://mcp.example.com/mcp. If the server asks for a sign-in, a browser window opens."
          type="url"
          problem={problemOfUrl(draft.url)}
          value={draft.url}
          isRequired
          onChange={(url) => set({ url })}
        />
      )}
      {!isNameFixed && (
        <TextField
          label="Name"
          pointer="/name"
          hint="Letters, digits, dots, dashes, and underscores. By default, the name comes from the source."
          value={draft.name}
          pattern="[a-zA-Z0-9][a-zA-Z0-9._\-]*"
          onChange={(name) => set({ name })}
        />
      )}
      <SelectField
        label="Group"
        pointer="/group"
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
              pointer="/cmd_arguments"
              hint="One per line."
              value={draft.arguments}
              onChange={(text) => set({ arguments: text })}
            />
            {source === 'package' && (
              <SelectField
                label="Transport"
                pointer="/transport"
                value={draft.transport}
                options={[
                  ['', 'stdio, unless the registry entry has another transport'],
                  ['stdio', 'stdio'],
                  ['streamable-http', 'streamable-http'],
                  ['sse', 'sse'],
                ]}
                onChange={(transport) => set({ transport })}
              />
            )}
            <TextField
              label="Memory limit"
              pointer="/resources/memory"
              hint="For example 512m or 2g."
              value={draft.memory}
              pattern="[0-9.]+\s*[kKmMgGtT]?[iI]?[bB]?"
              onChange={(memory) => set({ memory })}
            />
            <TextField
              label="Processor limit"
              pointer="/resources/cpus"
              hint="The number of processors, for example 0.5 or 2."
              value={draft.cpus}
              pattern="[0-9]+(\.[0-9]+)?"
              onChange={(cpus) => set({ cpus })}
            />
            <SelectField
              label="When the server changes its tools"
              pointer="/tool_pinning"
              value={draft.toolPinning}
              options={[
                ['warn', 'Warn'],
                ['block', 'Hold the change back until it is approved'],
                ['off', 'Do nothing'],
              ]}
              onChange={(toolPinning) => set({ toolPinning })}
            />
            <SelectField
              label="Server processes"
              pointer="/sessions"
              hint="For stdio servers. Clients that share a process can see changes of the others in it."
              value={draft.sessions}
              options={[
                ['auto', 'Shared by sessions if the server keeps nothing for them'],
                ['own', 'One for each session'],
                ['shared', 'One for all sessions'],
              ]}
              onChange={(sessions) => set({ sessions })}
            />
            <label className="choice">
              <input
                type="checkbox"
                checked={draft.isEphemeral}
                onChange={({ target }) => set({ isEphemeral: target.checked })}
              />
              Remove the files that the server stores whenever it stops
            </label>
          </details>
        </>
      )}
    </>
  );
}

const kinds = { text: 'Text', stored: 'Stored secret', 'new-secret': 'New secret' } as const;

/** A server's environment variables, secret ones included. */
export function Variables({
  variables,
  onChange,
}: {
  variables: readonly Variable[];
  onChange: (variables: readonly Variable[]) => void;
}): ReactNode {
  // Loaded only for secrets, because the request fails until secrets are set up.
  const needsStore = variables.some(({ kind }) => kind !== 'text');
  return (
    <fieldset>
      <legend>Environment variables and secrets</legend>
      {needsStore && <LockedSecrets />}
      {variables.map((variable, index) =>
        isBundleValue(variable) ? null : (
          <VariableRow
            key={variable.isFixed === true ? variable.name : index}
            variable={variable}
            number={index + 1}
            pointer={pointerOfVariable(variables, index)}
            onChange={(changes) => onChange(variables.with(index, { ...variable, ...changes }))}
            onRemove={() => onChange(variables.toSpliced(index, 1))}
          />
        ),
      )}
      <button type="button" onClick={() => onChange([...variables, { name: '', kind: 'text', value: '' }])}>
        Add a variable
      </button>
    </fieldset>
  );
}

/** The field that unlocks the secrets, while they are locked. */
function LockedSecrets(): ReactNode {
  const { data } = useResource(secrets);
  if (data?.provider.locked !== true) return undefined;
  return (
    <Notice kind="warning">
      The encrypted file with the secrets is locked.
      <SecretStore isLocked />
    </Notice>
  );
}

/** The choice of a stored secret. */
function StoredSecret(attributes: ComponentProps<'select'>): ReactNode {
  const { data } = useResource(secrets);
  return (
    <select {...attributes}>
      <option value="">Choose a secret</option>
      {data?.keys.map(({ key }) => (
        <option key={key}>{key}</option>
      ))}
    </select>
  );
}

function VariableRow({
  variable: { name, kind, value, description, isRequired = false, isFixed = false },
  number,
  pointer,
  onChange,
  onRemove,
}: {
  variable: Variable;
  /** Starts at 1. */
  number: number;
  pointer: string | undefined;
  onChange: (changes: Partial<Variable>) => void;
  onRemove: () => void;
}): ReactNode {
  const label = name === '' ? `Variable ${number}` : name;
  const { attributes, note } = useField({
    hint: description && <ForeignText>{description}</ForeignText>,
    pointer,
    isRequired,
  });
  return (
    <div className="field">
      {isFixed && (
        <label htmlFor={attributes.id}>
          <ForeignText>{name}</ForeignText>
          {isRequired && <span className="quiet"> required</span>}
        </label>
      )}
      <div className="inline-fields">
        {!isFixed && (
          <input
            aria-label={`Name of variable ${number}`}
            placeholder="NAME"
            pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
            value={name}
            autoComplete="off"
            onChange={({ target }) => onChange({ name: target.value })}
          />
        )}
        <select
          aria-label={`Kind of ${label}`}
          value={kind}
          onChange={({ target }) => onChange({ kind: target.value as Variable['kind'], value: '' })}
        >
          {Object.entries(kinds).map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
        {kind === 'stored' ? (
          <StoredSecret
            {...attributes}
            aria-label={`Secret for ${label}`}
            value={value}
            onChange={({ target }) => onChange({ value: target.value })}
          />
        ) : (
          <input
            {...attributes}
            aria-label={isFixed ? undefined : `Value of ${label}`}
            type={kind === 'new-secret' ? 'password' : 'text'}
            value={value}
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => onChange({ value: target.value })}
          />
        )}
        {!isFixed && (
          <button type="button" aria-label={`Remove ${label}`} onClick={onRemove}>
            Remove
          </button>
        )}
      </div>
      {note}
    </div>
  );
}

/** The files and directories that a server can access. */
export function Mounts({
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
      {mounts.map((mount, index) => (
        <MountRow
          key={index}
          mount={mount}
          number={index + 1}
          pointer={pointerOfMount(mounts, index)}
          onChange={(changes) => onChange(mounts.with(index, { ...mount, ...changes }))}
          onRemove={() => onChange(mounts.toSpliced(index, 1))}
        />
      ))}
      <button
        type="button"
        onClick={() => onChange([...mounts, { source: '', target: '', isReadOnly: true }])}
      >
        Add a path
      </button>
    </fieldset>
  );
}

function MountRow({
  mount: { source, target: place, isReadOnly },
  number,
  pointer,
  onChange,
  onRemove,
}: {
  mount: Mount;
  /** Starts at 1. */
  number: number;
  pointer: string | undefined;
  onChange: (changes: Partial<Mount>) => void;
  onRemove: () => void;
}): ReactNode {
  const { attributes, note } = useField({ pointer, isRequired: true });
  return (
    <div className="field">
      <div className="inline-fields">
        <input
          {...attributes}
          aria-label={`Path on this machine ${number}`}
          placeholder="/path/on/this/machine"
          pattern="[\/~].*|[A-Za-z]:.*"
          value={source}
          autoComplete="off"
          onChange={({ target }) => onChange({ source: target.value })}
        />
        <input
          aria-label={`Path for the server ${number}`}
          placeholder="the same path"
          pattern="/.*"
          value={place}
          autoComplete="off"
          onChange={({ target }) => onChange({ target: target.value })}
        />
        <label className="choice">
          <input
            type="checkbox"
            checked={isReadOnly}
            onChange={({ target }) => onChange({ isReadOnly: target.checked })}
          />
          Read only
        </label>
        <button type="button" aria-label={`Remove path ${number}`} onClick={onRemove}>
          Remove
        </button>
      </div>
      {note}
    </div>
  );
}

const networkChoices: readonly (readonly [NetworkChoice, string])[] = [
  ['default', "The registry entry's rules. For other servers, the public internet on ports 80 and 443"],
  ['none', 'No network'],
  ['public', 'Every public host'],
  ['hosts', 'Only these hosts'],
  ['open', 'Every public host on every port, and private networks where the runtime cannot exclude them'],
];

/** A server's network access. */
export function NetworkFields({
  draft,
  set,
  used = [],
}: {
  draft: Draft;
  set: (changes: Partial<Draft>) => void;
  /** The hosts that the server has used, which a new list of hosts begins with. */
  used?: readonly string[];
}): ReactNode {
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
            onChange={() =>
              set({
                network: choice,
                ...(choice === 'hosts' && draft.hosts === '' ? { hosts: used.join('\n') } : {}),
              })
            }
          />
          {text}
        </label>
      ))}
      {draft.network === 'hosts' && <UsedHosts hosts={draft.hosts} used={used} set={set} />}
      {draft.network === 'hosts' && (
        <AreaField
          label="Hosts"
          pointer="/permission_profile/network/outbound/allow_host"
          hint="One per line: api.example.com, *.example.com for all names below, .example.com for both, or an address."
          value={draft.hosts}
          onChange={(hosts) => set({ hosts })}
        />
      )}
      {(draft.network === 'hosts' || draft.network === 'public') && (
        <TextField
          label="Ports"
          pointer="/permission_profile/network/outbound/allow_port"
          hint="Separated by commas."
          value={draft.ports}
          pattern="[0-9, ]*"
          onChange={(ports) => set({ ports })}
        />
      )}
      {draft.network !== 'open' && (
        <TextField
          label="Ports of this machine"
          pointer="/local_ports"
          hint="For example 5432 for a database at localhost. Separated by commas."
          value={draft.localPorts}
          pattern="[0-9, ]*"
          onChange={(localPorts) => set({ localPorts })}
        />
      )}
      <TextField
        label="Published ports"
        pointer="/publish"
        hint="Ports of the server that a browser on this machine reaches, for example 8000 to sign in. Separated by commas."
        value={draft.published}
        pattern="[0-9:, ]*"
        onChange={(published) => set({ published })}
      />
    </fieldset>
  );
}

/** A box for each host that the server has used, ticked if the list has the host. */
function UsedHosts({
  hosts,
  used,
  set,
}: {
  hosts: string;
  used: readonly string[];
  set: (changes: Partial<Draft>) => void;
}): ReactNode {
  const listed = linesIn(hosts);
  if (used.length === 0) return null;
  return (
    <fieldset>
      <legend>Used so far</legend>
      {used.map((host) => (
        <label key={host} className="choice">
          <input
            type="checkbox"
            checked={listed.includes(host)}
            onChange={({ target }) =>
              set({
                hosts: (target.checked ? [...listed, host] : listed.filter((each) => each !== host)).join(
                  '\n',
                ),
              })
            }
          />
          <ForeignText>{host}</ForeignText>
        </label>
      ))}
    </fieldset>
  );
}
