import { invalid } from '@toolhive/contract/failure';
import {
  MalformedMessage,
  errorCodes,
  idText,
  isObject,
  readMessage,
  replaceAt,
  spanOf,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { answerError, answerResult, withAnswer } from '../connection/connection.ts';
import type { Responder } from '../connection/connection.ts';
import type { MessageMiddleware, Passed } from '../pipeline.ts';

/** Which of a server's tools clients see, and how. */
export interface ToolRules {
  /** The names, as clients see them, of all that are offered; all tools when there is none. */
  filter?: readonly string[];
  /** By the server's own name of a tool: what it is called and how it is described instead. */
  overrides?: Readonly<Record<string, { name?: string; description?: string }>>;
}

/** The view that rules make; none when they change nothing. Throws `invalid` where two tools would have one name. */
export function toolFilterOf(rules: ToolRules | undefined): ToolFilter | undefined {
  const { filter = [], overrides = {} } = rules ?? {};
  const changes = Object.values(overrides).some(({ name, description }) => name || description);
  return filter.length > 0 || changes ? new ToolFilter({ filter, overrides }) : undefined;
}

/**
 * What clients see of a server's tools. Lists and calls agree: whatever is not in the list cannot be called, a
 * renamed tool has its new name only, and that name leads to no other.
 */
export class ToolFilter implements MessageMiddleware {
  readonly #filter: ReadonlySet<string> | undefined;
  readonly #overrides: ReadonlyMap<string, { name?: string; description?: string }>;
  /** The server's own names, by those that were given instead. */
  readonly #realNames: ReadonlyMap<string, string>;

  constructor({ filter = [], overrides = {} }: ToolRules) {
    this.#filter = filter.length === 0 ? undefined : new Set(filter);
    this.#overrides = new Map(Object.entries(overrides));
    const realNames = new Map<string, string>();
    for (const [real, { name }] of this.#overrides) {
      if (name === undefined || name === '') continue;
      const other = realNames.get(name);
      if (other !== undefined) {
        throw invalid(`the tools ${other} and ${real} are both to be called ${name}`, {
          hint: 'give each overridden tool a name of its own',
        });
      }
      realNames.set(name, real);
    }
    this.#realNames = realNames;
  }

  /** The request as the server is to get it; undefined when it was answered here. */
  pass(message: Message, reply: Responder): Passed | undefined {
    const { method } = message.value;
    if (method === 'tools/list') {
      const answer: Responder['answer'] = (text, value) => {
        // The text may say more than the server did, which the value does not.
        const { result } = readMessage(text).value;
        if (!isObject(result)) return reply.answer(text, value);
        // Written anew, so that clients read the list that is filtered here, and no other member.
        const others = Object.entries(result).filter(([name]) => name.toLowerCase() !== 'tools');
        const tools = Array.isArray(result['tools']) ? this.#visible(result['tools']) : [];
        answerResult(reply, idText(message), { ...Object.fromEntries(others), tools });
      };
      return { message, reply: withAnswer(reply, answer) };
    }
    if (method !== 'tools/call') return { message, reply };
    try {
      return { message: this.#called(message), reply };
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      answerError(reply, idText(message), error.code, error.message);
      return undefined;
    }
  }

  /** The server's own name of a tool that clients see; undefined when they see none of that name. */
  realName(visible: string): string | undefined {
    if (this.#filter !== undefined && !this.#filter.has(visible)) return undefined;
    const real = this.#realNames.get(visible);
    if (real !== undefined) return real;
    return (this.#overrides.get(visible)?.name ?? '') === '' ? visible : undefined;
  }

  #called(message: Message): Message {
    const { params = {} } = message.value;
    const name = params['name'];
    const span = spanOf(message.text, ['params', 'name']);
    if (typeof name !== 'string' || span === undefined)
      throw new MalformedMessage(errorCodes.invalidParams, 'params must contain the name of a tool');
    const real = this.realName(name);
    if (real === undefined) throw new MalformedMessage(errorCodes.invalidParams, `there is no tool ${name}`);
    return real === name ? message : readMessage(replaceAt(message.text, span, JSON.stringify(real)));
  }

  #visible(tools: readonly unknown[]): unknown[] {
    return tools.flatMap((tool) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
      const real = tool['name'];
      const { name, description } = this.#overrides.get(real) ?? {};
      const visible = name === undefined || name === '' ? real : name;
      // Another tool may have been given this name; then that is the one that it calls.
      if (this.realName(visible) !== real) return [];
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
