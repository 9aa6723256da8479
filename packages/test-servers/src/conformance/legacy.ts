import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Result, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { answers, capabilities, identity } from './answers.ts';
import { isAnswer } from './caller.ts';
import type { Caller } from './caller.ts';
import { text } from './content.ts';
import { readResource } from './resources.ts';
import { tools } from './tools.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** A server for one session in the revisions up to 2025-11-25, on the SDK's first major version. */
export function legacyServer(): Server {
  const server = new Server(identity, { capabilities });
  for (const [method, answer] of Object.entries({ ...answers, ...legacyAnswers })) {
    const schema = z.object({ method: z.literal(method), params: z.looseObject({}).optional() });
    server.setRequestHandler(
      schema,
      async ({ params = {} }, extra) => (await answer(params, callerOf(server, extra))) as Result,
    );
  }
  return server;
}

/** Serves the client at the other end of standard input and output. */
export async function serveStdio(): Promise<void> {
  await legacyServer().connect(new StdioServerTransport());
}

const legacyAnswers: typeof answers = {
  'tools/list': () => ({
    tools: Object.entries(tools).map(([name, { description, inputSchema }]) => ({
      name,
      description,
      inputSchema,
    })),
  }),
  'tools/call': ({ name, arguments: given = {} }, caller) =>
    callTool(String(name), given as Record<string, unknown>, caller),
  'resources/read'({ uri }) {
    const contents = readResource(String(uri));
    if (contents === undefined) throw new McpError(resourceNotFound, `no resource ${String(uri)}`, { uri });
    return contents;
  },
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
};

/** The code for this in the revisions up to 2025-11-25, which the SDK has no name for. */
const resourceNotFound = -32002;

async function callTool(name: string, given: Record<string, unknown>, caller: Caller) {
  const tool = tools[name];
  if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `no tool ${name}`);
  try {
    const called = await tool.call(given, caller);
    return { content: typeof called === 'string' ? [text(called)] : called };
  } catch (error) {
    return { content: [text(String(error))], isError: true };
  }
}

function callerOf(server: Server, extra: Extra): Caller {
  const progressToken = extra._meta?.progressToken;
  return {
    capabilities: server.getClientCapabilities() ?? {},
    progressToken,
    log: (data) =>
      extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } }),
    async progress(progress, total) {
      if (progressToken === undefined) return;
      const params = { progressToken, progress, total };
      await extra.sendNotification({ method: 'notifications/progress', params });
    },
    async ask(questions) {
      const asked = Object.entries<(typeof questions)[keyof typeof questions]>(questions).map(
        async ([key, question]) => {
          // The result schema distinguishes the SDK's types. The code below checks every answer.
          const answer = await extra.sendRequest(question as ServerRequest, z.looseObject({}));
          if (!isAnswer(question, answer)) throw new Error(`${question.method} was not answered`);
          return [key, answer];
        },
      );
      return Object.fromEntries(await Promise.all(asked));
    },
    listChanged: (list) => (list === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged()),
    hangUp: () => extra.closeSSEStream?.(),
  };
}
