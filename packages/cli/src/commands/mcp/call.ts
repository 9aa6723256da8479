import { throughProxy } from './through-proxy.ts';
import { ThvError, invalid, notFound, timedOut } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { McpClient } from '@toolhive/proxy/client';
import type { CommandCall, FlagValues } from '../../command.ts';
import { readStandardInput } from '../../read-text.ts';
import { version } from '../../version.ts';
import { withinLimit } from '../../wait.ts';
import { endpointOf } from '../endpoint.ts';

type Values = Record<string, unknown>;

/** Calls a tool and prints its result. Throws if the tool reports an error, after its result is printed. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out } = call;
  const chosen = flags.text('server');
  // As for thv mcp list, the server can be a flag.
  const [server, tool, ...texts] = chosen === undefined ? call.arguments : [chosen, ...call.arguments];
  const usage = { hint: 'run thv mcp call --help to see its usage' };
  if (server === undefined) throw invalid('SERVER is missing', usage);
  if (tool === undefined) throw invalid('TOOL is missing', usage);
  const input = await readInput(flags, call.signal);
  const timeoutMs = flags.milliseconds('timeout') ?? 0;
  const result = await withinLimit(
    timeoutMs,
    call.signal,
    (signal) => callTool({ ...call, signal }, { server, tool, texts, input }),
    (cause) =>
      timedOut(`${tool} did not answer within ${timeoutMs / 1000} seconds`, {
        hint: 'use a longer --timeout',
        cause,
      }),
  );
  out.result(result, printable(textOf(result)));
  if (result['resultType'] === 'input_required') {
    throw new ThvError('unsupported', `the tool ${tool} asks for input, which thv mcp call does not support`);
  }
  if (result['isError'] === true) throw new ThvError('unsupported', `the tool ${tool} reported an error`);
}

interface Asked {
  server: string;
  tool: string;
  texts: readonly string[];
  input: Values;
}

async function callTool(call: CommandCall, { server, tool, texts, input }: Asked): Promise<Values> {
  const { flags, out, signal } = call;
  const transport = flags.text('transport') as 'auto' | 'sse' | 'streamable-http'; // its choices were checked
  const url = await endpointOf(server, call, transport === 'sse' ? '/sse' : '/mcp');
  await using client = await McpClient.connect({ url, transport, open: throughProxy, version, signal });
  const tools = await client.list('tools', signal);
  const found = tools.find(({ name }) => name === tool);
  if (found === undefined) {
    const names = tools.map(({ name }) => String(name)).toSorted();
    throw notFound(`${server} has no tool ${tool}`, {
      hint: names.length === 0 ? 'the server has no tools' : `the available tools are ${names.join(', ')}`,
    });
  }
  const args = { ...input, ...readArguments(texts, found['inputSchema']) };
  // Awaited here, as the connection closes when this ends.
  return await client.callTool(tool, args, {
    signal,
    onProgress: ({ progress, total, message }) =>
      out.progress([`${progress}${total === undefined ? '' : `/${total}`}`, message ?? ''].join(' ').trim()),
  });
}

async function readInput(flags: FlagValues, signal: AbortSignal): Promise<Values> {
  const given = flags.text('input');
  if (given === undefined) return {};
  const text = given === '-' ? await readStandardInput(signal) : given;
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Without its cause, which quotes the input.
  }
  throw invalid('--input is not a JSON object', { hint: `use the form '{"NAME": VALUE}'` });
}

/** Reads `NAME=VALUE` as the tool describes its arguments: text stays text, everything else is JSON. */
function readArguments(texts: readonly string[], schema: unknown): Values {
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1)
        throw invalid(`invalid argument ${JSON.stringify(text)}`, { hint: 'use the form NAME=VALUE' });
      const name = text.slice(0, equals);
      return [name, readValue(name, text.slice(equals + 1), typesOf(schema, name))];
    }),
  );
}

function readValue(name: string, text: string, types: readonly string[]): unknown {
  if (types.includes('string')) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    if (types.length === 0) return text;
    throw invalid(`the argument ${name} is not ${types.join(' or ')}`, {
      hint: `use JSON, for example ${name}=${examples[types[0] ?? ''] ?? 'null'}`,
    });
  }
}

const examples: Record<string, string> = {
  number: '1.5',
  integer: '5',
  boolean: 'true',
  array: `'["a","b"]'`,
  object: `'{"a":1}'`,
};

/** The JSON types of an argument. Empty if the schema does not restrict them. */
function typesOf(schema: unknown, name: string): string[] {
  const properties = member(schema, 'properties');
  const property = member(properties, name);
  const alternatives = [property, ...['anyOf', 'oneOf'].flatMap((key) => asList(member(property, key)))];
  const types = alternatives.flatMap((each) => asList(member(each, 'type')));
  const values = alternatives.flatMap((each) => [...asList(member(each, 'enum')), member(each, 'const')]);
  return [
    ...new Set([...types, ...values.filter((value) => typeof value === 'string').map(() => 'string')]),
  ].filter((type) => typeof type === 'string');
}

/** The text of a result. Other content is described, because a terminal cannot show it. */
function textOf(result: Values): string {
  const blocks = asList(result['content']).map((block) => {
    const text = member(block, 'text') ?? member(member(block, 'resource'), 'text');
    if (typeof text === 'string') return text;
    const [type, mimeType, uri] = ['type', 'mimeType', 'uri'].map((key) => member(block, key));
    return `[${[type, mimeType, uri].filter((part) => typeof part === 'string').join(' ')}; --format json shows all of it]`;
  });
  if (blocks.length > 0) return blocks.join('\n');
  return JSON.stringify(result['structuredContent'] ?? {}, null, 2);
}

function asList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined ? [] : [value];
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
