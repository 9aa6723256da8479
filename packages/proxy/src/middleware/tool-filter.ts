import { invalid } from '@toolhive/contract/failure';
import {
  errorCodes,
  idText,
  isObject,
  readMessage,
  replaceAt,
  resultMessage,
  spanOf,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome } from './middleware.ts';

/** The tools that clients see, and how they see them. */
export interface ToolRules {
  /** The names of the visible tools, as clients see them. All tools are visible if the list is empty. */
  filter?: readonly string[];
  /** Other names and descriptions, by the server's own name of the tool. */
  overrides?: Readonly<Record<string, { name?: string; description?: string }>>;
}

/** Hides and renames tools. Undefined if the rules change nothing. Throws `invalid` if two tools have the same name. */
export function toolFilter({ tools }: { tools?: ToolRules | undefined }): Middleware | undefined {
  const { filter = [], overrides = {} } = tools ?? {};
  const isChanged = Object.values(overrides).some(({ name, description }) => name || description);
  return filter.length > 0 || isChanged ? new ToolFilter({ filter, overrides }) : undefined;
}

/** Returns a function from the names of tools that clients see to the server's own names. */
export function realNames({ overrides = {} }: ToolRules): (visible: string) => string {
  const real = new Map(
    Object.entries(overrides).flatMap(([own, { name = '' }]) => (name === '' ? [] : [[name, own]])),
  );
  return (visible) => real.get(visible) ?? visible;
}

/** Returns a server's tool as clients see it. */
export function toolView({ filter = [], overrides = {} }: ToolRules): (tool: Record<string, unknown>) => {
  isShown: boolean;
  name: string;
  description: unknown;
} {
  const rules = new ToolFilter({ filter, overrides });
  return (tool) => {
    const [shown] = rules.visible([tool]);
    const { name = '', description = '' } = overrides[String(tool['name'])] ?? {};
    return {
      isShown: shown !== undefined,
      name: name === '' ? String(tool['name']) : name,
      description: description === '' ? tool['description'] : description,
    };
  };
}

/**
 * Shows clients a part of a server's tools. Lists and calls agree: a tool that is not in the list cannot be called,
 * and a renamed tool has only its new name, which leads to no other tool.
 */
class ToolFilter implements Middleware {
  readonly #filter: ReadonlySet<string> | undefined;
  readonly #overrides: ReadonlyMap<string, { name?: string; description?: string }>;
  /** The server's own names, by the names given instead. */
  readonly #realNames: ReadonlyMap<string, string>;

  constructor({ filter = [], overrides = {} }: ToolRules) {
    this.#filter = filter.length === 0 ? undefined : new Set(filter);
    this.#overrides = new Map(Object.entries(overrides));
    const realNames = new Map<string, string>();
    for (const [real, { name }] of this.#overrides) {
      if (name === undefined || name === '') continue;
      const other = realNames.get(name);
      if (other !== undefined) {
        throw invalid(`the tools ${other} and ${real} cannot both be called ${name}`, {
          hint: 'give each overridden tool a unique name',
        });
      }
      realNames.set(name, real);
    }
    this.#realNames = realNames;
  }

  readonly message = ({ direction, message, request }: CallContext): Outcome => {
    if (direction === 'to server')
      return message.value.method === 'tools/call' ? this.#call(message) : message;
    const isList = message.kind === 'response' && request?.value.method === 'tools/list';
    return isList ? this.#list(message) : message;
  };

  #call(message: Message): Outcome {
    const name = message.value.params?.['name'];
    if (typeof name !== 'string')
      return refusal(errorCodes.invalidParams, 'params must contain the name of a tool');
    const real = this.#realName(name);
    if (real === undefined) return refusal(errorCodes.invalidParams, `tool ${name} not found`);
    if (real === name) return message;
    const span = spanOf(message.text, ['params', 'name']);
    if (span === undefined) throw new Error('a name that was read has a place');
    return readMessage(replaceAt(message.text, span, JSON.stringify(real)));
  }

  #list(message: Message): Message {
    const { result } = message.value;
    if (!isObject(result)) return message;
    // Rebuilt, so that clients read only the filtered list.
    const others = Object.entries(result).filter(([name]) => name.toLowerCase() !== 'tools');
    const tools = Array.isArray(result['tools']) ? this.visible(result['tools']) : [];
    return resultMessage(idText(message), { ...Object.fromEntries(others), tools });
  }

  /** Returns the server's own name of a tool that clients see, undefined if they see none of that name. */
  #realName(visible: string): string | undefined {
    if (this.#filter !== undefined && !this.#filter.has(visible)) return undefined;
    const real = this.#realNames.get(visible);
    if (real !== undefined) return real;
    return (this.#overrides.get(visible)?.name ?? '') === '' ? visible : undefined;
  }

  /** The tools of a list that clients see, as they see them. */
  visible(tools: readonly unknown[]): unknown[] {
    return tools.flatMap((tool) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
      const real = tool['name'];
      const { name, description } = this.#overrides.get(real) ?? {};
      const visible = name === undefined || name === '' ? real : name;
      // Another tool may have this name, which then leads to that one.
      if (this.#realName(visible) !== real) return [];
      return [
        {
          ...tool,
          name: visible,
          ...(description === undefined || description === '' ? {} : { description }),
        },
      ];
    });
  }
}
