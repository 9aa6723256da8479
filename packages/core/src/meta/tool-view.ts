import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { InProcessCaller } from '@toolhive/proxy/in-process-server';
import { isObject } from '@toolhive/proxy/message';
import { modernMeta } from '@toolhive/proxy/protocol';
import { ProxyClient } from '@toolhive/proxy/proxy-client';
import type { Member } from './members.ts';
import { maxToolName } from './tool-inputs.ts';

/** A tool as a workload's proxy lists it. */
export type ListedTool = Record<string, unknown> & { name: string };

/** How long a workload may take to list its tools. */
const listingMs = 20_000;
const maxPages = 100;
const maxTools = 2_000;
const maxToolChars = 64 * 1024;
/** How long to wait before the stream of changes is opened again. */
const retryMs = 5_000;

export interface ToolViewOptions {
  member: Member;
  /** The `Authorization` header of the callers of this view. */
  authorization: string | undefined;
  version: string;
  /** Called when the tools have changed. */
  onChange: () => void;
}

/**
 * The tools of one workload that callers with the same credentials may call, kept current. Requests pass through the
 * proxy of the workload, so filters, overrides, policies, and approvals apply to the list.
 */
export class ToolView implements AsyncDisposable {
  readonly client: ProxyClient;
  readonly #options: ToolViewOptions;
  readonly #over = new AbortController();
  #tools: readonly ListedTool[] = [];
  #problem: string | undefined;
  #serverDescription: string | undefined;
  /** The server reports changes of its tools. */
  #reportsChanges = false;
  #refreshing: Promise<void> | undefined;
  #isStale = true;
  #lastUsedMs = performance.now();

  constructor(options: ToolViewOptions) {
    this.#options = options;
    const { member, authorization } = options;
    this.client = new ProxyClient({
      proxy: member.proxy,
      authorization,
      schemaOf: (name) => this.#tools.find((tool) => tool.name === name)?.['inputSchema'],
    });
    this.refresh().catch(raiseFault);
    this.#watch().catch(raiseFault);
  }

  get member(): Member {
    return this.#options.member;
  }

  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  /** Why the tools could not be listed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The description that the server gives of itself. */
  get serverDescription(): string | undefined {
    return this.#serverDescription;
  }

  get lastUsedMs(): number {
    return this.#lastUsedMs;
  }

  /** Whether only reading the list shows changes. */
  get needsPolling(): boolean {
    return !this.#reportsChanges || this.#problem !== undefined;
  }

  /** The list that is being read, if any. */
  get pending(): Promise<void> | undefined {
    return this.#refreshing;
  }

  used(): void {
    this.#lastUsedMs = performance.now();
  }

  /** Reads the list again, once for all changes that happen in the meantime. Never rejects. */
  refresh(): Promise<void> {
    this.#isStale = true;
    return (this.#refreshing ??= this.#readWhileStale().finally(() => (this.#refreshing = undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the workload is not searched anymore'));
    await this.client[Symbol.asyncDispose]();
  }

  async #readWhileStale(): Promise<void> {
    while (this.#isStale && !this.#over.signal.aborted) {
      this.#isStale = false;
      try {
        const tools = await this.#read();
        const isChanged = JSON.stringify(tools) !== JSON.stringify(this.#tools);
        this.#tools = tools;
        this.#problem = undefined;
        if (isChanged) this.#options.onChange();
      } catch (error) {
        const hadTools = this.#tools.length > 0;
        this.#tools = [];
        this.#problem = messageOf(error);
        if (hadTools && !this.#over.signal.aborted) this.#options.onChange();
      }
    }
  }

  async #read(): Promise<ListedTool[]> {
    const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(listingMs)]);
    this.#serverDescription ??= await this.#describeServer(signal);
    const tools: ListedTool[] = [];
    let cursor: unknown;
    for (let page = 0; page < maxPages && tools.length < maxTools; page++) {
      const params = { ...this.#described(), ...(cursor === undefined ? {} : { cursor }) };
      const { value } = await this.client.ask('tools/list', params, { signal });
      if (value.error !== undefined) throw new Error(value.error.message);
      const result = isObject(value.result) ? value.result : {};
      tools.push(...(Array.isArray(result['tools']) ? result['tools'].filter(isTool) : []));
      const next = result['nextCursor'];
      if (next === undefined || next === null || next === cursor) break;
      cursor = next;
    }
    return tools.slice(0, maxTools);
  }

  /** Undefined if the server cannot describe itself now. */
  async #describeServer(signal: AbortSignal): Promise<string | undefined> {
    const { value } = await this.client.ask('server/discover', this.#described(), { signal });
    if (value.error !== undefined) return undefined;
    const { instructions, capabilities } = isObject(value.result) ? value.result : {};
    const tools = isObject(capabilities) ? capabilities['tools'] : undefined;
    this.#reportsChanges = isObject(tools) && tools['listChanged'] === true;
    return typeof instructions === 'string' ? instructions.slice(0, 500) : '';
  }

  /** Reads the list again whenever the server says that its tools have changed. */
  async #watch(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        await this.client.ask(
          'subscriptions/listen',
          { ...this.#described(), notifications: { toolsListChanged: true } },
          {
            signal,
            notify: ({ value: { method } }) => {
              // Changes before the confirmation were not reported.
              const isConfirmed = method === 'notifications/subscriptions/acknowledged';
              if (isConfirmed || method === 'notifications/tools/list_changed')
                this.refresh().catch(raiseFault);
            },
          },
        );
      } catch {
        // The polling of the directory reads the list in the meantime.
      }
      await pause(retryMs, signal);
    }
  }

  #described(): { _meta: Record<string, unknown> } {
    const clientInfo = { name: 'toolhive-meta-mcp', version: this.#options.version };
    const client: InProcessCaller['client'] = { protocolVersion: '', capabilities: {}, clientInfo };
    return { _meta: modernMeta(client) };
  }
}

function isTool(value: unknown): value is ListedTool {
  if (!isObject(value) || typeof value['name'] !== 'string') return false;
  return value['name'].length <= maxToolName && JSON.stringify(value).length <= maxToolChars;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
