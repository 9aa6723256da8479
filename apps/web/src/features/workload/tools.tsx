import { Suspense, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { Capabilities, ListedSkill, ListedTool } from '@toolhive/contract/capabilities';
import { capabilities, workloads } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { client } from '../../api/client.ts';
import { refresh } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { isActive } from '../../ui/actions.ts';
import { ago, count } from '../../ui/format.ts';
import { useQuery } from '../../ui/query.ts';
import { Notice, Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { PendingChanges } from './pending-changes.tsx';
import { Tester } from './tester.tsx';
import type { Item } from './tester.tsx';
import { lazily } from '../../ui/unloaded.tsx';

/** The tools, prompts, and resources of a server, and a form to call each. */
export function Tools(): ReactNode {
  const name = useWorkloadName();
  const resource = capabilities(name);
  const loaded = useResource(resource);
  return (
    <WorkloadFrame name={name}>
      <PendingChanges name={name} />
      <Shown loaded={loaded} name={resource.key} what="the tools">
        {(data) => <Listing key={name} name={name} data={data} />}
      </Shown>
    </WorkloadFrame>
  );
}

function Listing({ name, data }: { name: string; data: Capabilities }): ReactNode {
  const [filter, setFilter] = useQuery('q');
  const items = useMemo(() => itemsOf(data), [data]);
  const [chosen, setChosen] = useQuery('tool');
  const { data: list } = useResource(workloads);
  const isRunning = list?.some((each) => each.name === name && isActive(each)) === true;
  const shown = items.filter(({ label }) => label.toLowerCase().includes(filter.toLowerCase()));
  const current = items.find((item) => addressOf(item) === chosen) ?? items[0];
  const tokens = data.tools
    .filter((tool) => tool.is_shown)
    .reduce((sum, tool) => sum + tool.estimated_tokens, 0);
  const ask = (): Promise<boolean> =>
    attempt('Cannot list the tools', async () => {
      await client.getCapabilities({ params: { name }, query: { refresh: 'true' } });
      refresh(`capabilities/${name}`);
    });
  return (
    <>
      <p className="quiet">
        {count(data.tools.length, 'tool')}, {count(data.prompts.length, 'prompt')},{' '}
        {count(data.resources.length + data.resource_templates.length, 'resource')}
        {data.skills !== undefined && `, ${count(data.skills.length, 'skill')}`}. The tools take about{' '}
        {count(tokens, 'token')} of a model’s context.{' '}
        {data.listed_at === undefined
          ? 'The server has not listed them yet.'
          : `Listed ${ago(data.listed_at)}.`}{' '}
        {data.protocol_version !== undefined && (
          <>
            Protocol version <ForeignText>{data.protocol_version}</ForeignText>.
          </>
        )}{' '}
        {isRunning && (
          <Action className="link" onClick={() => ask()}>
            List again
          </Action>
        )}
      </p>
      {data.problem !== undefined && (
        <Notice kind="failure">
          <ForeignText>{data.problem}</ForeignText>
        </Notice>
      )}
      {data.instructions !== undefined && data.instructions !== '' && (
        <details>
          <summary>Instructions of the server</summary>
          <div className="foreign foreign-text">
            <ForeignText>{data.instructions}</ForeignText>
          </div>
        </details>
      )}
      {current !== undefined && (
        <div className="tool-layout">
          <div>
            <input
              type="search"
              value={filter}
              aria-label="Filter tools, prompts, and resources"
              placeholder="Filter"
              onChange={({ target }) => setFilter(target.value)}
            />
            <div className="tool-list scrolls">
              <Table
                label="Tools, prompts, and resources"
                columns={columns((item) => setChosen(addressOf(item)))}
                rows={shown}
                keyOf={({ key }) => key}
                current={current.key}
                onOpen={(item) => setChosen(addressOf(item))}
                hasOnlyLines
              />
            </div>
          </div>
          <div>
            <Details item={current} />
            {current.kind === 'tool' && (
              <ToolActions
                key={`actions ${current.key}`}
                name={name}
                tool={current.tool}
                tools={data.tools}
              />
            )}
            {isRunning ? (
              <Tester key={`tester ${current.key}`} workload={name} item={current} tools={data.tools} />
            ) : (
              <Notice>Start the server to call this {kindOf(current)}.</Notice>
            )}
          </div>
        </div>
      )}
      {current === undefined && data.listed_at !== undefined && (
        <p>The server offers no tools, prompts, or resources.</p>
      )}
      {current === undefined && data.listed_at === undefined && !isRunning && (
        <p>Start the server to see what it offers.</p>
      )}
    </>
  );
}

/** An item in the address of the page: a tool by its name, and everything else also by its kind. */
const addressOf = (item: Item): string => (item.kind === 'tool' ? item.tool.name : item.key);

function columns(choose: (item: Item) => void): readonly Column<Item>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      width: 7,
      grow: 1,
      order: ({ label }) => label,
      cell: (item) => (
        <button type="button" className="link" onClick={() => choose(item)}>
          <ForeignText>{item.label}</ForeignText>{' '}
          {item.kind !== 'tool' && <span className="badge">{kindOf(item)}</span>}
          {item.kind === 'tool' && !item.tool.is_shown && <span className="badge">disabled</span>}
        </button>
      ),
    },
    {
      id: 'tokens',
      head: 'Tokens',
      kind: 'number',
      width: 4,
      order: (item) => (item.kind === 'tool' ? item.tool.estimated_tokens : undefined),
      cell: (item) => (item.kind === 'tool' ? item.tool.estimated_tokens.toLocaleString('en') : ''),
    },
  ];
}

function itemsOf({
  tools,
  prompts,
  resources,
  resource_templates: templates,
  skills = [],
}: Capabilities): Item[] {
  return [
    ...tools.map((tool) => ({ kind: 'tool' as const, key: `tool ${tool.name}`, label: tool.name, tool })),
    ...prompts.map((prompt) => ({
      kind: 'prompt' as const,
      key: `prompt ${prompt.name}`,
      label: prompt.name,
      prompt,
    })),
    ...resources.map((resource) => ({
      kind: 'resource' as const,
      key: `resource ${resource.uri}`,
      label: resource.name ?? resource.uri,
      uri: resource.uri,
      description: resource.description,
      mimeType: resource.mime_type,
      isTemplate: false,
    })),
    ...templates.map((template) => ({
      kind: 'resource' as const,
      key: `template ${template.uri_template}`,
      label: template.name ?? template.uri_template,
      uri: template.uri_template,
      description: template.description,
      mimeType: template.mime_type,
      isTemplate: true,
    })),
    ...skills.map((skill) => ({
      kind: 'resource' as const,
      key: `skill ${skill.uri}`,
      label: skill.name ?? skill.uri,
      uri: skill.uri,
      description: skill.description,
      mimeType: undefined,
      isTemplate: false,
      skill,
    })),
  ];
}

const kindOf = (item: Item): string =>
  item.kind === 'resource' && item.skill !== undefined ? 'skill' : item.kind;

function Details({ item }: { item: Item }): ReactNode {
  const description =
    item.kind === 'tool'
      ? item.tool.description
      : item.kind === 'prompt'
        ? item.prompt.description
        : item.description;
  return (
    <>
      <h2>
        <ForeignText>{item.label}</ForeignText>
      </h2>
      {description !== undefined && description !== '' && (
        <div className="foreign foreign-text">
          <span className="from">Description by the server</span>
          <ForeignText>{description}</ForeignText>
        </div>
      )}
      {item.kind === 'tool' && <ToolFacts tool={item.tool} />}
      {item.kind === 'resource' && (
        <p>
          <code>
            <ForeignText>{item.uri}</ForeignText>
          </code>{' '}
          {item.mimeType !== undefined && (
            <span className="badge">
              <ForeignText>{item.mimeType}</ForeignText>
            </span>
          )}
          {item.skill !== undefined && <SkillFacts skill={item.skill} />}
        </p>
      )}
    </>
  );
}

function SkillFacts({ skill: { files, pin } }: { skill: ListedSkill }): ReactNode {
  return (
    <>
      <span className="badge">{files === undefined ? 'without digests' : count(files, 'file')}</span>{' '}
      {pin !== undefined && (
        <span className={`badge ${pin.state === 'approved' ? '' : 'warning'}`}>{pinStates[pin.state]}</span>
      )}
    </>
  );
}

const RenameDialog = lazily(() => import('./rename-dialog.tsx'));
const OfferDialog = lazily(() => import('./offer-dialog.tsx'));

/** Renames a tool, or hides it from clients. */
function ToolActions({
  name,
  tool,
  tools,
}: {
  name: string;
  tool: ListedTool;
  tools: readonly ListedTool[];
}): ReactNode {
  const [open, setOpen] = useState<'rename' | 'offer' | undefined>();
  const offer = tool.is_shown ? 'Disable this tool' : 'Enable this tool';
  const close = (): void => setOpen(undefined);
  return (
    <div className="buttons">
      <Action onClick={() => setOpen('rename')}>Rename</Action>
      <Action onClick={() => setOpen('offer')}>{offer}</Action>
      <Suspense>
        {open === 'rename' && <RenameDialog name={name} tool={tool} onClose={close} />}
        {open === 'offer' && <OfferDialog title={offer} {...{ name, tool, tools }} onClose={close} />}
      </Suspense>
    </div>
  );
}

/** The meaning of annotations in words (MCP, Tool Annotations). */
const hints: Record<string, [whenTrue: string, whenFalse: string]> = {
  readOnlyHint: ['only reads', 'changes data'],
  destructiveHint: ['can destroy data', 'adds data only'],
  idempotentHint: ['can be repeated safely', ''],
  openWorldHint: ['contacts other systems', 'contacts no other systems'],
};

function ToolFacts({ tool }: { tool: ListedTool }): ReactNode {
  const said = Object.entries(hints)
    .map(([key, [whenTrue, whenFalse]]) => {
      const value = tool.annotations?.[key];
      return value === true ? whenTrue : value === false ? whenFalse : '';
    })
    .filter(Boolean);
  return (
    <>
      <p>
        <span className="badge">about {count(tool.estimated_tokens, 'token')}</span>{' '}
        {tool.name !== tool.original_name && (
          <span className="badge">
            <ForeignText>{`renamed from ${tool.original_name}`}</ForeignText>
          </span>
        )}{' '}
        {tool.pin !== undefined && (
          <span className={`badge ${tool.pin.state === 'approved' ? '' : 'warning'}`}>
            {pinStates[tool.pin.state]}
          </span>
        )}
      </p>
      {said.length > 0 && (
        <p className="quiet">The server says that this tool {said.join(', ')}. Nothing verifies that.</p>
      )}
      <details>
        <summary>Schema</summary>
        <pre>
          <code>
            <ForeignText>
              {JSON.stringify({ input: tool.input_schema, output: tool.output_schema }, null, 2)}
            </ForeignText>
          </code>
        </pre>
      </details>
    </>
  );
}

const pinStates = {
  approved: 'unchanged',
  changed: 'changed since approval',
  new: 'new, not approved',
  removed: 'removed by the server',
} as const;
