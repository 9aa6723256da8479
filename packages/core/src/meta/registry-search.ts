import type { Registry, RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { printable } from '@toolhive/contract/printable';
import type * as z from 'zod';
import type { Core } from '../core.ts';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import type { SearchableTool } from '@toolhive/tool-search/tool-index';
import type { MetaResult } from './meta-call.ts';
import type { SearchRegistry } from './tool-inputs.ts';

type Entry = RegistryServer | RegistryRemoteServer;

interface SearchableEntry extends SearchableTool {
  entry: Entry;
}

const maxFound = 10;
const maxDescription = 300;
const maxTools = 30;

/** Answers `search_registry` with the ranking of `find_tool`. */
export class RegistrySearch {
  readonly #core: Core;
  #known: { registry: Registry; index: ToolIndex<SearchableEntry> } | undefined;

  constructor(core: Core) {
    this.#core = core;
  }

  async search({ query }: z.output<typeof SearchRegistry>): Promise<MetaResult> {
    await this.#core.registry.servers({ limit: 1 }); // reads the registry
    const index = await this.#index();
    const found = index.search(query, { limit: maxFound });
    return { value: { servers: found.map(({ tool }) => describe(tool)) } };
  }

  async #index(): Promise<ToolIndex<SearchableEntry>> {
    const { current: registry } = this.#core.registry;
    if (this.#known?.registry === registry) return this.#known.index;
    const entries = { ...registry.remote_servers, ...registry.servers };
    const index = await ToolIndex.build(Object.entries(entries).map(searchable));
    this.#known = { registry, index };
    return index;
  }
}

function searchable([name, entry]: [string, Entry]): SearchableEntry {
  const { description, tools, tags = [] } = entry;
  return {
    id: name,
    server: name,
    name,
    description: `${description}. ${[...tags, ...tools].join(' ')}`,
    entry,
  };
}

function describe({ name, entry }: SearchableEntry): object {
  const { description, tools, tags = [], env_vars: variables = [] } = entry;
  const required = variables.filter((variable) => variable.required);
  return {
    name,
    description: printable(description).slice(0, maxDescription),
    kind: 'url' in entry ? 'remote' : 'local',
    tools: tools.slice(0, maxTools).map(printable),
    tags: tags.map(printable),
    ...(required.length === 0
      ? {}
      : { required_variables: required.map((variable) => printable(variable.name)) }),
  };
}
