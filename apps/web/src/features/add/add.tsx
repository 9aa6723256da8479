import { useDeferredValue, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { inOrder } from '@toolhive/contract/registry-order';
import { Link, useLocation, useSearch } from 'wouter';
import { registries, registryServers, workload } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { count, dateTime } from '../../ui/format.ts';
import { CheckedPermissions } from '../../ui/checked.tsx';
import { Form } from '../../ui/fields.tsx';
import { Launch, useAttempts } from '../../ui/launch.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Notice, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { draftOfWorkload, emptyDraft } from '../../ui/workload-draft.ts';
import type { Draft } from '../../ui/workload-draft.ts';
import { WorkloadForm } from '../../ui/workload-form.tsx';
import { Paste } from './paste.tsx';

const tabs = [
  ['registry', 'Registry'],
  ['package', 'Package or image'],
  ['remote', 'Remote server'],
  ['paste', 'Paste'],
] as const;

/** The ways to add a server. */
export function Add(): ReactNode {
  const search = new URLSearchParams(useSearch());
  const duplicate = search.get('duplicate');
  const tab = duplicate === null ? (search.get('tab') ?? 'registry') : 'package';
  return (
    <Page title="Add a server" help="/toolhive/guides-ui/run-mcp-servers">
      <nav aria-label="Sources" className="tabs">
        {tabs.map(([name, label]) => (
          <Link key={name} href={`/add?tab=${name}`} aria-current={name === tab ? 'page' : undefined}>
            {label}
          </Link>
        ))}
      </nav>
      {tab === 'registry' && <Catalog />}
      {tab === 'package' &&
        (duplicate === null ? (
          <Custom key="package" first={emptyDraft} source="package" />
        ) : (
          <Duplicate name={duplicate} />
        ))}
      {tab === 'remote' && <Custom key="remote" first={emptyDraft} source="remote" />}
      {tab === 'paste' && <Paste />}
    </Page>
  );
}

function Duplicate({ name }: { name: string }): ReactNode {
  const resource = workload(name);
  const loaded = useResource(resource);
  return (
    <Shown loaded={loaded} name={resource.key} what="the server">
      {(details) => {
        const { proxy_port: _port, ...others } = draftOfWorkload(details).others;
        const first = { ...draftOfWorkload(details), name: `${name}-2`, others };
        return <Custom key={name} first={first} source={details.remote ? 'remote' : 'package'} />;
      }}
    </Shown>
  );
}

function Custom({ first, source }: { first: Draft; source: 'package' | 'remote' }): ReactNode {
  const [draft, setDraft] = useState(first);
  const form = useRef<HTMLFormElement>(null);
  const attempts = useAttempts();
  const [, navigate] = useLocation();
  return (
    <div className="columns">
      <Form ref={form} failure={attempts.failure}>
        <WorkloadForm draft={draft} onChange={setDraft} source={source} />
        <Launch
          draft={draft}
          attempts={attempts}
          isValid={() => form.current?.reportValidity() === true}
          onDone={(name) => navigate(`/w/${encodeURIComponent(name)}`)}
        />
      </Form>
      {draft.image !== '' && (
        <aside>
          <h2>What the server may do</h2>
          <CheckedPermissions draft={draft} isRunning={attempts.isRunning} />
        </aside>
      )}
    </div>
  );
}

/** The number of entries that are loaded at once. */
const pageSize = 60;

function Catalog(): ReactNode {
  const [search, setSearch] = useState('');
  const [offset, setOffset] = useState(0);
  const [needs, setNeeds] = useState<ReadonlySet<Need>>(new Set());
  const query = useDeferredValue(search.trim());
  const resource = registryServers('default', {
    ...(query === '' ? {} : { search: query }),
    limit: pageSize,
    offset,
  });
  const loaded = useResource(resource);
  const sources = useResource(registries);
  const [source] = sources.data ?? [];
  return (
    <>
      {source?.problem !== undefined && (
        <Notice kind="warning">
          <ForeignText>{source.problem}</ForeignText>
          {source.stale === true &&
            source.fetched_at !== undefined &&
            ` This is the registry of ${dateTime(source.fetched_at)}.`}
        </Notice>
      )}
      <div className="toolbar">
        <input
          type="search"
          value={search}
          aria-label="Search the registry"
          placeholder="Search by name, description, tag, or tool"
          onChange={({ target }) => {
            setSearch(target.value);
            setOffset(0);
          }}
        />
        {Object.entries(needLabels).map(([need, label]) => (
          <label key={need} className="choice">
            <input
              type="checkbox"
              checked={needs.has(need as Need)}
              onChange={({ target }) => {
                const next = new Set(needs);
                if (target.checked) next.add(need as Need);
                else next.delete(need as Need);
                setNeeds(next);
              }}
            />
            {label}
          </label>
        ))}
      </div>
      <Shown loaded={loaded} name={resource.key} what="the registry">
        {(page) => {
          const { total } = page;
          const entries = inOrder(page).filter((entry) => [...needs].every((need) => !hasNeed(entry, need)));
          return (
            <>
              <p className="quiet" role="status">
                {count(total, 'server')}
                {needs.size > 0 && `, ${entries.length} of them on this page match`}
              </p>
              {entries.length === 0 && (
                <Empty title="No server matches">Try other words, or add a package.</Empty>
              )}
              <ul className="cards">
                {entries.map((entry) => (
                  <EntryCard key={entry.name} entry={entry} />
                ))}
              </ul>
              {total > pageSize && (
                <div className="buttons">
                  <button type="button" disabled={offset === 0} onClick={() => setOffset(offset - pageSize)}>
                    Previous
                  </button>
                  <span>
                    {offset + 1} to {Math.min(offset + pageSize, total)} of {total.toLocaleString('en')}
                  </span>
                  <button
                    type="button"
                    disabled={offset + pageSize >= total}
                    onClick={() => setOffset(offset + pageSize)}
                  >
                    Next
                  </button>
                </div>
              )}
            </>
          );
        }}
      </Shown>
    </>
  );
}

type Need = 'key' | 'network' | 'files';
const needLabels: Record<Need, string> = { key: 'No API key', network: 'No network', files: 'No files' };

function hasNeed(entry: RegistryServer | RegistryRemoteServer, need: Need): boolean {
  if (!('image' in entry)) return need !== 'files';
  switch (need) {
    case 'key':
      return (entry.env_vars ?? []).some(({ required, secret }) => required && secret);
    case 'network': {
      const outbound = entry.permissions?.network?.outbound;
      return (
        entry.permissions === undefined ||
        outbound?.allow_host !== undefined ||
        outbound?.insecure_allow_all === true
      );
    }
    case 'files':
      return [...(entry.args ?? []), ...(entry.package?.args ?? [])].some((argument) =>
        argument.startsWith('/'),
      );
  }
}

function EntryCard({ entry }: { entry: RegistryServer | RegistryRemoteServer }): ReactNode {
  const { name = '', description, tier, tools, tags = [], metadata } = entry;
  return (
    <li className="card">
      <h2>
        <Link href={`/add/default/${encodeURIComponent(name)}`}>
          <ForeignText>{name}</ForeignText>
        </Link>
      </h2>
      <p>
        <ForeignText>{description}</ForeignText>
      </p>
      <p className="quiet">
        {[
          tier,
          'image' in entry ? '' : 'remote',
          count(tools.length, 'tool'),
          hasNeed(entry, 'key') ? 'needs an API key' : '',
          metadata?.stars ? `${metadata.stars.toLocaleString('en')} stars` : '',
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {tags.length > 0 && (
        <p>
          {tags.slice(0, 5).map((tag) => (
            <span key={tag} className="badge">
              <ForeignText>{tag}</ForeignText>
            </span>
          ))}
        </p>
      )}
    </li>
  );
}
