import type { ReactNode } from 'react';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import { clients, groups } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { download } from '../../ui/download.ts';
import { bytes, dateTime } from '../../ui/format.ts';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';

/** Facts about a workload, the origin of its server, and files with its settings. */
export function Details({ details }: { details: WorkloadDetails }): ReactNode {
  return (
    <>
      <dl className="pairs">
        <Pair term="URL">
          {details.proxy_url === '' ? (
            <span className="quiet">none while it does not run</span>
          ) : (
            <>
              <code>{details.proxy_url}</code>{' '}
              <CopyButton text={details.proxy_url} label="Copy URL" what={`of ${details.name}`} />
            </>
          )}
        </Pair>
        <Pair term={details.remote ? 'Remote server' : 'Source'}>
          <ForeignText>{details.package}</ForeignText>
        </Pair>
        {details.provenance !== undefined && (
          <Pair term="Provenance">
            <Provenance provenance={details.provenance} />
          </Pair>
        )}
        <Pair term="Runtime">
          {details.remote ? 'none, the server is remote' : (details.runtime ?? 'not known yet')}
        </Pair>
        <Pair term="Transport">
          {details.transport_type}
          {details.protocol !== undefined &&
            (details.protocol === 'modern' ? ', protocol 2026-07-28' : ', protocol 2025-11-25 or earlier')}
        </Pair>
        {details.session_processes !== undefined && <Pair term="Processes">{details.session_processes}</Pair>}
        <Pair term="Group">
          <Link href={`/groups/${encodeURIComponent(details.group)}`}>{details.group}</Link>
        </Pair>
        <Pair term="Clients">
          <ClientNames group={details.group} />
        </Pair>
        <Pair term="Created">{dateTime(details.created_at)}</Pair>
        {details.home !== undefined && (
          <Pair term="Stored files">
            {bytes(details.home.size_bytes)} of {bytes(details.home.limit_bytes)} in{' '}
            <code>{details.home.path}</code>
          </Pair>
        )}
        {(details.secrets?.length ?? 0) > 0 && (
          <Pair term="Secrets">
            {details.secrets?.map((secret) => `${secret.name} as ${secret.target}`).join(', ')}
          </Pair>
        )}
      </dl>
      <Exports name={details.name} />
    </>
  );
}

function Pair({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Provenance({
  provenance: { status, repository, workflow, reason },
}: {
  provenance: NonNullable<WorkloadDetails['provenance']>;
}): ReactNode {
  switch (status) {
    case 'verified':
      return (
        <>
          <span className="good">verified</span>, built from{' '}
          <ForeignText>{repository ?? 'an unknown repository'}</ForeignText>
          {workflow !== undefined && (
            <>
              {' '}
              by <ForeignText>{workflow}</ForeignText>
            </>
          )}
        </>
      );
    case 'absent':
      return 'none, the package registry has no attestation';
    case 'failed':
    case 'unknown':
      return (
        <span className={status === 'failed' ? 'problem' : 'quiet'}>
          {status === 'failed' ? 'wrong' : 'not known'}: <ForeignText>{reason ?? ''}</ForeignText>
        </span>
      );
  }
}

function ClientNames({ group }: { group: string }): ReactNode {
  const { data: all = [] } = useResource(groups);
  const { data: statuses = [] } = useResource(clients);
  const names = all.find(({ name }) => name === group)?.registered_clients ?? [];
  if (names.length > 0) return names.join(', ');
  const isAny = statuses.some(({ installed }) => installed);
  return (
    <>
      <span className="quiet">none registered for this group.</span>{' '}
      <Link href="/clients">{isAny ? 'Connect a client' : 'See the clients'}</Link>
    </>
  );
}

/** Saves the workload as a file that `thv run --from-config` or Kubernetes takes. */
function Exports({ name }: { name: string }): ReactNode {
  return (
    <div className="buttons">
      <Action
        onClick={() =>
          attempt('Cannot export', async () => {
            const config = await client.exportWorkload({ params: { name } });
            download(`${JSON.stringify(config, null, 2)}\n`, `${name}.json`);
          })
        }
      >
        Export run config
      </Action>
      <Action
        onClick={() =>
          attempt('Cannot export', async () => {
            const { manifest } = await client.exportManifest({ params: { name } });
            download(
              typeof manifest === 'string' ? manifest : JSON.stringify(manifest, null, 2),
              `${name}.yaml`,
            );
          })
        }
      >
        Export Kubernetes manifest
      </Action>
    </div>
  );
}
