import { randomBytes } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_META_KEY,
  McpServer,
  ResourceNotFoundError,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
} from '@modelcontextprotocol/server';
import type {
  InputRequests,
  InputRequiredResult,
  RequestMethod,
  ServerContext,
  ServerNotifier,
} from '@modelcontextprotocol/server';
import * as stdio from '@modelcontextprotocol/server/stdio';
import { answers, capabilities, identity } from './answers.ts';
import { isAnswer } from './caller.ts';
import type { Answer, Caller, Question } from './caller.ts';
import { text } from './content.ts';
import { readResource } from './resources.ts';
import { tools } from './tools.ts';

/** How a server notifies its listeners of changes. Over HTTP, they listen to the endpoint instead of one server. */
type Announce = Pick<ServerNotifier, 'toolsChanged' | 'promptsChanged'>;

/**
 * A server for one request over HTTP or one connection over stdio in revision 2026-07-28, on the SDK's second
 * major version.
 */
export function modernServer(announce?: Announce): McpServer {
  const server = new McpServer(identity, {
    capabilities,
    requestState: { verify: (state, context) => sealedAnswers.verify(state, context) },
  });
  const announcer = announce ?? {
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
  };

  // Registered one by one, because the SDK compares the headers of a call with the schema of its tool.
  for (const [name, tool] of Object.entries(tools)) {
    const config = {
      description: tool.description,
      inputSchema: fromJsonSchema<Record<string, unknown>>(tool.inputSchema),
    };
    server.registerTool(name, config, (given, context) =>
      answering(context, announcer, async (caller) => {
        const called = await tool.call(given, caller);
        return { content: typeof called === 'string' ? [text(called)] : called };
      }),
    );
  }
  for (const [method, answer] of Object.entries({ ...answers, ...modernAnswers })) {
    server.server.setRequestHandler(
      method as RequestMethod,
      async ({ params = {} }, context) =>
        (await answering(context, announcer, async (caller) => answer(params, caller))) as object,
    );
  }
  return server;
}

/** Serves the client on standard input and output. `legacy` decides how to handle a legacy client. */
export function serveStdio(legacy: 'serve' | 'reject'): void {
  stdio.serveStdio(() => modernServer(), { legacy });
}

const modernAnswers: typeof answers = {
  'resources/read'({ uri }) {
    const contents = readResource(String(uri));
    if (contents === undefined) throw new ResourceNotFoundError(String(uri));
    return contents;
  },
};

/** Keeps the answers of earlier rounds with the client, who can read but not change them. */
const sealedAnswers = createRequestStateCodec<Record<string, Answer>>({ key: randomBytes(32) });

/** The exception that ends a tool which must ask the client. */
class Unanswered extends Error {
  readonly questions: Record<string, Question>;

  constructor(questions: Record<string, Question>) {
    super('the client must be asked first');
    this.questions = questions;
  }
}

/**
 * Answers a request, or returns the questions for the client. The client repeats the request with its answers, and
 * the function starts again from the beginning.
 */
async function answering<Result>(
  context: ServerContext,
  announce: Announce,
  answer: (caller: Caller) => Promise<Result>,
): Promise<Result | InputRequiredResult> {
  const answered: Record<string, Answer> = { ...context.mcpReq.requestState<Record<string, Answer>>() };
  try {
    return await answer(callerOf(context, announce, answered));
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const inputRequests = error.questions as InputRequests;
    return inputRequired({ inputRequests, requestState: await sealedAnswers.mint(answered) });
  }
}

/** The metadata of every request. The SDK has checked it, but has no type for it. */
type Envelope = { [CLIENT_CAPABILITIES_META_KEY]?: Caller['capabilities'] };

function callerOf(context: ServerContext, announce: Announce, answered: Record<string, Answer>): Caller {
  const { mcpReq } = context;
  const envelope: Envelope = mcpReq.envelope ?? {};
  const progressToken = mcpReq._meta?.progressToken;
  return {
    capabilities: envelope[CLIENT_CAPABILITIES_META_KEY] ?? {},
    progressToken,
    log: (message) => mcpReq.log('info', message),
    async progress(progress, total) {
      if (progressToken === undefined) return;
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total },
      });
    },
    async ask(questions) {
      const open: Record<string, Question> = {};
      for (const [key, question] of Object.entries<Question>(questions)) {
        const answer = answered[key] ?? mcpReq.inputResponses?.[key];
        if (isAnswer(question, answer)) answered[key] = answer;
        else open[key] = question;
      }
      if (Object.keys(open).length > 0) throw new Unanswered(open);
      return answered;
    },
    async listChanged(list) {
      if (list === 'tools') announce.toolsChanged();
      else announce.promptsChanged();
    },
    hangUp: () => {}, // a stream cannot be resumed in this revision
  };
}
