import { printable } from '@toolhive/contract/printable';
import { RequestError } from '@toolhive/proxy/in-process-server';
import { isObject, spanOf } from '@toolhive/proxy/message';
import type { Message } from '@toolhive/proxy/message';
import type { Combination } from '@toolhive/combined/combination';
import type * as z from 'zod';
import type { RelevanceFeedback } from '@toolhive/tool-search/feedback';
import { estimateTokens } from '@toolhive/contract/tokens';
import { idOf } from './directory.ts';
import type { ToolDirectory, Visible } from './directory.ts';
import { ToolFailure } from './meta-call.ts';
import type { MetaCall, MetaResult } from './meta-call.ts';
import { nearestNames } from './nearest-names.ts';
import { partOf } from './results.ts';
import type { ResultStore } from './results.ts';
import type { CallTool } from './tool-inputs.ts';
import { callName, isEnough, readingsIn, readingsOf, sharedNames } from './tool-names.ts';
import type { NamedTool } from './tool-names.ts';
import type { ToolView } from './tool-view.ts';

interface CallWorld {
  directory: ToolDirectory;
  /** Everything besides tools. */
  others: Combination;
  feedback: RelevanceFeedback;
  /** Absent if results are never truncated. */
  results: ResultStore | undefined;
  maxTokens: number | undefined;
}

const nearest = 3;
const maxProblem = 300;

/**
 * Calls a workload's tool through its proxy, as the proxy's caller. Progress, cancellation, and questions of the
 * server pass through in both directions.
 */
export async function callTool(
  input: z.output<typeof CallTool>,
  call: MetaCall,
  { directory, others, feedback, results, maxTokens }: CallWorld,
): Promise<MetaResult> {
  const visible = await directory.visibleTo(call.caller, call.signal);
  const { view, name } = resolve(input, visible);
  const { _meta, inputResponses, requestState } = call.params;
  const params = {
    name,
    arguments: input.parameters ?? {},
    _meta,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
  const response = await view.client.ask('tools/call', params, {
    signal: call.signal,
    notify: ({ value: { method = '', params: about = {} } }) => call.notify(method, about),
  });
  const { error } = response.value;
  if (error !== undefined)
    throw new RequestError(error.code, error.message, isObject(error.data) ? error.data : undefined);
  const answered = { json: resultText(response), result: response.value.result };
  const { json, result } = others.linked(call.caller, view.member.name, answered);
  feedback.called(call.callerKey, idOf(view.member.name, name));
  const truncated =
    results === undefined || maxTokens === undefined || !isObject(result)
      ? undefined
      : truncate(result, { call, results, maxTokens });
  return { passed: truncated ?? { json } };
}

/** Finds the tool that a call names. Throws `ToolFailure` with the nearest names if there is none. */
function resolve(
  { server_name: server, tool_name: asked }: z.output<typeof CallTool>,
  visible: Visible,
): { view: ToolView; name: string } {
  if (server !== undefined) {
    const [first] = readingsIn(server, asked).flatMap((reading) => toolsOf(visible, reading));
    if (first !== undefined) return first;
    throw new ToolFailure(unknownTool({ server, name: asked }, visible));
  }
  const [reading = { name: asked }, other] = readingsOf(asked);
  if (other !== undefined)
    throw new ToolFailure(
      `the tool name ${asked} can be read in several ways. Name the server of the tool in server_name`,
    );
  const found = toolsOf(visible, reading);
  const [first, second] = found;
  if (first === undefined) throw new ToolFailure(unknownTool(reading, visible));
  if (second === undefined && (reading.server !== undefined || !sharedNames(visible).has(asked)))
    return first;
  const servers = found.map(({ view }) => view.member.name).join(', ');
  const before = second === undefined ? ', and another server had one before' : '';
  throw new ToolFailure(
    `several servers have the tool ${asked}: ${servers}${before}. Name one of them in server_name`,
  );
}

/** The tools of a name, in one server or in all. */
function toolsOf({ views }: Visible, { server, name }: NamedTool): { view: ToolView; name: string }[] {
  return [...views].flatMap(([id, view]) => {
    const own = view.member.name;
    return id === idOf(own, name) && (server === undefined || server === own) ? [{ view, name }] : [];
  });
}

function unknownTool({ server, name: asked }: NamedTool, visible: Visible): string {
  if (server !== undefined && !visible.servers.some(({ name }) => name === server)) {
    const names = nearestNames(
      server,
      visible.servers.map(({ name }) => name),
      nearest,
    );
    return `server ${server} not found${names.length === 0 ? '' : `; the nearest names are ${names.join(', ')}`}`;
  }
  const unusable = visible.problems.find((one) => one.server === server);
  if (unusable !== undefined)
    return `server ${unusable.server} cannot be used now: ${printable(unusable.problem).slice(0, maxProblem)}`;
  const shared = sharedNames(visible);
  const names = [...visible.views].flatMap(([id, { member }]) => {
    const name = callName(member.name, id.slice(member.name.length + 1), shared);
    const leads =
      server === undefined ? isEnough(name, { server: member.name, shared }) : server === member.name;
    return leads ? [name] : [];
  });
  const near = nearestNames(asked, names, nearest);
  const where = server === undefined ? '' : ` of server ${server}`;
  return `tool ${asked}${where} not found${near.length === 0 ? '' : `; the nearest names are ${near.join(', ')}`}`;
}

/** Returns the text of the result exactly as the server has sent it. */
function resultText({ text }: Message): string {
  const [start, end] = spanOf(text, ['result']) ?? [0, 0];
  return text.slice(start, end);
}

/** Shortens the text of a result. Undefined if it is short enough, or contains no text. */
function truncate(
  result: Record<string, unknown>,
  { call, results, maxTokens }: { call: MetaCall; results: ResultStore; maxTokens: number },
): object | undefined {
  const { content, structuredContent, ...others } = result;
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  const texts = parts.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  );
  const structured = structuredContent === undefined ? '' : JSON.stringify(structuredContent);
  const whole = texts.length > 0 ? texts.join('\n') : structured;
  const tokensIn = (text: string): number => estimateTokens(text, maxTokens);
  if (whole === '' || tokensIn(whole) + tokensIn(structured) <= maxTokens) return undefined;
  const handle = results.add(call.callerKey, whole);
  const { text, nextOffset = whole.length } = partOf(whole, 0, maxTokens);
  const note = `The result is truncated: ${text.length} of ${whole.length} characters. To read more, call read_result with the handle ${handle} and the offset ${nextOffset}.`;
  return {
    ...others,
    content: [
      { type: 'text', text },
      { type: 'text', text: note },
      ...parts.filter(({ type }) => type !== 'text'),
    ],
  };
}
