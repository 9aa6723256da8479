import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { useLocation, useParams } from 'wouter';
import { registryServer } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { BundleFields } from '../../ui/bundle-fields.tsx';
import { CheckedPermissions } from '../../ui/checked.tsx';
import { Form, TextField } from '../../ui/fields.tsx';
import { Launch, useAttempts } from '../../ui/launch.tsx';
import { Page } from '../../ui/page.tsx';
import { decoded } from '../../ui/query.ts';

import { Shown } from '../../ui/states.tsx';
import { ForeignLink, ForeignText } from '../../ui/text.tsx';
import { draftOfEntry } from '../../ui/workload-draft.ts';
import { WorkloadForm } from '../../ui/workload-form.tsx';

/** The form for a registry entry, with the server permissions. */
export function AddEntry(): ReactNode {
  const { registry = '', server = '' } = useParams();
  const name = decoded(server);
  const resource = registryServer(decoded(registry), name);
  const loaded = useResource(resource);
  return (
    <Page title={`Run ${name}`} help="/toolhive/guides-ui/run-mcp-servers">
      <Shown loaded={loaded} name={resource.key} what="the registry entry">
        {({ server: local, remote_server: remote }) => {
          const entry = local ?? remote;
          return entry === undefined ? null : <EntryForm key={name} name={name} entry={entry} />;
        }}
      </Shown>
    </Page>
  );
}

function EntryForm({
  name,
  entry,
}: {
  name: string;
  entry: RegistryServer | RegistryRemoteServer;
}): ReactNode {
  const [draft, setDraft] = useState(() => draftOfEntry(entry, name));
  const form = useRef<HTMLFormElement>(null);
  const attempts = useAttempts();
  const [, navigate] = useLocation();
  const local = 'image' in entry ? entry : undefined;
  const places = 'url' in entry ? (entry.url_variables ?? []) : [];
  return (
    <>
      <p>
        <ForeignText>{entry.description}</ForeignText>
      </p>
      <div className="columns">
        <Form ref={form} failure={attempts.failure}>
          {places.map(({ name: place, description, default: preset = '' }) => (
            <TextField
              key={place}
              label={place}
              hint={description === '' ? 'A part of the URL' : description}
              pointer={jsonPointer(['url_variables', place])}
              value={draft.others.url_variables?.[place] ?? preset}
              isRequired
              onChange={(value) =>
                setDraft({
                  ...draft,
                  others: {
                    ...draft.others,
                    url_variables: { ...draft.others.url_variables, [place]: value },
                  },
                })
              }
            />
          ))}
          {local?.package?.source.startsWith('mcpb://') === true && (
            <BundleFields draft={draft} onChange={setDraft} isRead />
          )}
          <WorkloadForm draft={draft} onChange={setDraft} source="none" />
          <Launch
            draft={draft}
            attempts={attempts}
            isValid={() => form.current?.reportValidity() === true}
            onDone={(created) => navigate(`/w/${encodeURIComponent(created)}`)}
          />
        </Form>
        <aside>
          {local !== undefined && (
            <>
              <h2>What the server may do</h2>
              <CheckedPermissions
                draft={draft}
                isRunning={attempts.isRunning}
                registryProfile={local.permissions ?? {}}
              />
            </>
          )}
          <h2>About the server</h2>
          <dl className="pairs">
            <Pair term="Tier">{entry.tier}</Pair>
            <Pair term="Source">
              <ForeignText>
                {local?.package?.source ?? local?.image ?? ('url' in entry ? entry.url : '')}
              </ForeignText>
            </Pair>
            <Pair term="Transport">{entry.transport}</Pair>
            {entry.repository_url !== undefined && (
              <Pair term="Repository">
                <ForeignLink url={entry.repository_url} />
              </Pair>
            )}
            {local?.provenance !== undefined && (
              <Pair term="Signed by">
                <ForeignText>{signerOf(local.provenance)}</ForeignText>
              </Pair>
            )}
          </dl>
          {entry.tools.length > 0 && (
            <>
              <h3>{entry.tools.length} tools</h3>
              <p className="quiet">
                <ForeignText>{entry.tools.join(', ')}</ForeignText>
              </p>
            </>
          )}
        </aside>
      </div>
    </>
  );
}

/** A workflow is named by its path inside the repository, which says nothing alone. */
function signerOf({
  repository_uri: repository,
  signer_identity: signer,
}: NonNullable<RegistryServer['provenance']>): string {
  const isPath = signer?.startsWith('/') === true;
  if (repository === undefined || (signer !== undefined && !isPath)) return signer ?? 'not stated';
  return isPath ? `${repository} (${signer.slice(1)})` : repository;
}

function Pair({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
