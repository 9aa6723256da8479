import type { ListedTool } from '@toolhive/contract/capabilities';
import { McpError, asObject } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';

/** The version of MCP Apps (SEP-1865). */
const protocolVersion = '2026-01-26';
/** The requests of an app that can wait for the user. */
const maxWaiting = 8;
/** The longest arguments, link, or message, in characters. The user must be able to read everything that is allowed. */
const maxShown = 20_000;
const maxUrl = 2_000;

/** Errors of JSON-RPC, and the one of hosts. */
const errors = { unknownMethod: -32_601, invalidParams: -32_602, refused: -32_000 } as const;

/** An action of an app, for the user to decide. All texts are those of the app. */
export type Question =
  | { kind: 'tool'; name: string; original: string; args: Values }
  | { kind: 'prompt'; name: string; args: Values }
  | { kind: 'resource'; uri: string }
  | { kind: 'list'; method: string }
  | { kind: 'link'; url: string }
  | { kind: 'message'; text: string };

export interface AppHostOptions {
  /** The tool that was called, and all tools that the workload has. */
  tool: ListedTool;
  tools: readonly ListedTool[];
  args: Values;
  result: Values;
  /** The hosts that the user has granted. */
  grants: { connect_hosts: readonly string[]; resource_hosts: readonly string[] };
  /** The look and the size of the page around the app. */
  context: () => Values;
  /** Sends a message to the app. */
  send: (message: Values) => void;
  /** Asks the user about one action. */
  confirm: (question: Question) => Promise<boolean>;
  /** Sends a request to the workload. */
  call: (method: string, params: Values) => Promise<Values>;
  openLink: (url: string) => void;
  /** The app wants to have this height. */
  onHeight: (height: number) => void;
  /** The app has written something: to its log, or to the conversation. */
  onText: (kind: 'log' | 'message', text: string) => void;
  /** The app wants to end. */
  onEnd: () => void;
}

/**
 * The host of one app (MCP Apps, SEP-1865): answers its requests. Nothing happens beyond the frame of the app before the
 * user has allowed that one action. One request after the other is decided and carried out.
 */
export class AppHost {
  readonly #options: AppHostOptions;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  #isInitialized = false;
  #ended: (() => void) | undefined;

  constructor(options: AppHostOptions) {
    this.#options = options;
  }

  /** Takes a message of the app, as JSON. Anything that is not JSON-RPC is ignored. */
  receive(text: string): void {
    const message = asObject(parsed(text));
    const { jsonrpc, id, method } = message;
    if (jsonrpc !== '2.0') return;
    if (typeof method !== 'string')
      this.#ended?.(); // the only request of the host is that to end
    else if (id === undefined) this.#notice(method, asObject(message['params']));
    else if (isId(id)) this.#request(id, method, asObject(message['params']));
  }

  /** Tells the app about the page around it, once it listens. */
  contextChanged(): void {
    if (this.#isInitialized) this.#notify('ui/notifications/host-context-changed', this.#options.context());
  }

  /** Lets the app end. Resolves with its answer. */
  end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = resolve;
    const params = { reason: 'The user stopped the app.' };
    this.#options.send({ jsonrpc: '2.0', id: 'end', method: 'ui/resource-teardown', params });
    return promise;
  }

  #notice(method: string, params: Values): void {
    const { args, result, onHeight, onText, onEnd } = this.#options;
    switch (method) {
      case 'ui/notifications/initialized':
        if (this.#isInitialized) return;
        this.#isInitialized = true;
        this.#notify('ui/notifications/tool-input', { arguments: args });
        this.#notify('ui/notifications/tool-result', result);
        return;
      case 'ui/notifications/size-changed':
        if (typeof params['height'] === 'number') onHeight(params['height']);
        return;
      case 'notifications/message':
        onText('log', shortened(params['data']));
        return;
      case 'ui/notifications/request-teardown':
        onEnd();
    }
  }

  #request(id: string | number, method: string, params: Values): void {
    if (method === 'ui/initialize') return this.#answer(id, this.#introduction());
    if (method === 'ui/request-display-mode') return this.#answer(id, { mode: 'inline' });
    if (method === 'ping') return this.#answer(id, {});
    const question = this.#questionOf(method, params);
    if ('code' in question) return this.#fail(id, question.code, question.message);
    if (this.#waiting === maxWaiting)
      return this.#fail(id, errors.refused, 'too many requests wait for the user');
    this.#waiting += 1;
    this.#last = this.#last.then(() => this.#decide(id, method, params, question));
  }

  async #decide(id: string | number, method: string, params: Values, question: Question): Promise<void> {
    try {
      if (await this.#options.confirm(question)) this.#answer(id, await this.#act(method, params, question));
      else this.#fail(id, errors.refused, 'the user denied this');
    } catch (error) {
      const code = error instanceof McpError ? error.code : errors.refused;
      this.#fail(id, code, error instanceof Error ? error.message : String(error));
    } finally {
      this.#waiting -= 1;
    }
  }

  /** The question for the user about a request, or the reason to refuse the request without a question. */
  #questionOf(method: string, params: Values): Question | { code: number; message: string } {
    const invalid = (message: string) => ({ code: errors.invalidParams, message });
    const { name, uri, url } = params;
    const args = asObject(params['arguments']);
    if (JSON.stringify(params).length > maxShown) return invalid(`more than ${maxShown} characters`);
    switch (method) {
      case 'tools/call': {
        const tool = toolFor(this.#options.tools, name);
        if (tool === undefined) return invalid(`tool ${String(name)} not found`);
        if (tool.app?.is_callable === false) return invalid(`apps cannot call the tool ${String(name)}`);
        return { kind: 'tool', name: tool.name, original: tool.original_name, args };
      }
      case 'prompts/get':
        return typeof name === 'string' ? { kind: 'prompt', name, args } : invalid('name is required');
      case 'resources/read':
        return typeof uri === 'string' ? { kind: 'resource', uri } : invalid('uri is required');
      case 'tools/list':
      case 'prompts/list':
      case 'resources/list':
      case 'resources/templates/list':
        return { kind: 'list', method };
      case 'ui/open-link': {
        const address = webAddress(url);
        return address === undefined
          ? invalid('url must be an http or https address')
          : { kind: 'link', url: address };
      }
      case 'ui/message': {
        const text = textOf(params['content']);
        return text === '' ? invalid('content must have a text') : { kind: 'message', text };
      }
      default:
        return { code: errors.unknownMethod, message: `${method} is not supported` };
    }
  }

  /** Carries out the allowed action, and nothing that the question did not show. */
  async #act(method: string, { cursor }: Values, question: Question): Promise<Values> {
    const { call, openLink, onText } = this.#options;
    switch (question.kind) {
      case 'tool':
      case 'prompt':
        return call(method, { name: question.name, arguments: question.args });
      case 'resource':
        return call(method, { uri: question.uri });
      case 'list':
        return call(method, typeof cursor === 'string' ? { cursor } : {});
      case 'link':
        openLink(question.url);
        return {};
      case 'message':
        onText('message', question.text);
        return {};
    }
  }

  #introduction(): Values {
    const { tool, grants, context } = this.#options;
    return {
      protocolVersion,
      hostInfo: { name: 'toolhive-ui', title: 'ToolHive web UI', version: '1' },
      hostCapabilities: {
        openLinks: {},
        serverTools: {},
        serverResources: {},
        logging: {},
        message: { text: {} },
        sandbox: {
          permissions: {},
          csp: { connectDomains: grants.connect_hosts, resourceDomains: grants.resource_hosts },
        },
      },
      hostContext: {
        ...context(),
        toolInfo: {
          tool: {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            inputSchema: tool.input_schema ?? { type: 'object' },
            outputSchema: tool.output_schema,
            annotations: tool.annotations,
          },
        },
      },
    };
  }

  #notify(method: string, params: Values): void {
    this.#options.send({ jsonrpc: '2.0', method, params });
  }

  #answer(id: string | number, result: Values): void {
    this.#options.send({ jsonrpc: '2.0', id, result });
  }

  #fail(id: string | number, code: number, message: string): void {
    this.#options.send({ jsonrpc: '2.0', id, error: { code, message } });
  }
}

/**
 * The tool that an app means by a name. Its code was written with the names of the server, which count first. The names
 * that clients see lead to a tool, too, because the host tells the app those. Hidden tools have no name.
 */
function toolFor(tools: readonly ListedTool[], name: unknown): ListedTool | undefined {
  const shown = tools.filter((tool) => tool.is_shown);
  return shown.find((tool) => tool.original_name === name) ?? shown.find((tool) => tool.name === name);
}

/** The address of a web page as the browser will open it. Undefined for everything else. */
function webAddress(url: unknown): string | undefined {
  const parsedUrl = typeof url === 'string' && url.length <= maxUrl ? URL.parse(url) : null;
  if (parsedUrl === null || !/^https?:$/.test(parsedUrl.protocol)) return undefined;
  const { username, password, href } = parsedUrl;
  return username === '' && password === '' && href.length <= maxUrl ? href : undefined;
}

/** The text of one content block, or of several. */
function textOf(content: unknown): string {
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  return blocks
    .map((block) => asObject(block)['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

function shortened(data: unknown): string {
  return (typeof data === 'string' ? data : (JSON.stringify(data) ?? '')).slice(0, 2_000);
}

function isId(id: unknown): id is string | number {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= 200);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not JSON-RPC
  }
}
