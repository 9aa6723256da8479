import { isObject } from './parse-document.ts';

/** How a client limits itself to some of the server's tools. */
export interface ToolLimits {
  /** The only tools that the client uses. */
  tools?: string[] | undefined;
  /** The tools that the client does not use, although it uses all others. */
  withoutTools?: readonly string[] | undefined;
  /** Patterns of the only tools that the client uses, which a workload cannot have. */
  patterns?: string[] | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const allowing = words(`includeTools enabledTools enabled_tools available_tools allowed_tools allowedTools
  include_tools whitelistTools`);
const denying =
  words(`excludeTools disabledTools disabled_tools disallowed_tools disallowedTools exclude_tools
  excludedTools excluded_tools blocked_tools blockedTools`);

/** The fields of entries that contain such limits. */
export const toolFields: readonly string[] = [
  ...allowing,
  ...denying,
  ...words('tools tool_configuration toolPermissions'),
];

/** The limits in an entry. A list in another form belongs to another feature of its client. */
export function toolLimits(entry: Fields): ToolLimits {
  const { tools, tool_configuration: configuration, options } = entry;
  const filter = isObject(options) && isObject(options['toolFilter']) ? options['toolFilter'] : {};
  const { anythingllm } = entry;
  const isAllowed = filter['mode'] === 'allow';
  const only = firstOf([
    ...allowing.map((key) => entry[key]),
    isObject(configuration) ? configuration['allowed_tools'] : undefined,
    isObject(tools) ? tools['include'] : tools,
    isAllowed ? filter['list'] : undefined,
  ]);
  const withoutTools = firstOf([
    ...denying.map((key) => entry[key]),
    isObject(tools) ? (tools['exclude'] ?? turnedOff(tools)) : undefined,
    turnedOff(entry['toolPermissions']),
    isObject(anythingllm) ? anythingllm['suppressedTools'] : undefined,
    isAllowed ? undefined : filter['list'],
  ]);
  const isPattern = only?.some((name) => /[*?[\]^|]/.test(name)) === true;
  return isPattern ? { patterns: only, withoutTools } : { tools: only, withoutTools };
}

/** The notes on limits that are not imported. Without the list of all tools, the others cannot be named. */
export function toolNotes({ withoutTools, patterns }: ToolLimits): string[] {
  const change = "To change that, choose the server's tools";
  return [
    ...(patterns ? [`clients can use all tools, not only ${patterns.join(', ')}. ${change}`] : []),
    ...(withoutTools ? [`clients can use all tools, also ${withoutTools.join(', ')}. ${change}`] : []),
  ];
}

/** `{"delete": false}` and `{"delete": {"enabled": false}}`. */
function turnedOff(map: unknown): string[] | undefined {
  if (!isObject(map)) return undefined;
  return Object.entries(map).flatMap(([name, value]) => {
    const state = isObject(value) ? (value['enabled'] ?? value['enable']) : value;
    return state === false ? [name] : [];
  });
}

function firstOf(lists: readonly unknown[]): string[] | undefined {
  return lists.map(listOf).find((list) => list !== undefined);
}

function listOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const names = value.filter((name) => typeof name === 'string');
  return names.length < value.length || names.includes('*') ? undefined : names;
}

function words(text: string): string[] {
  return text.split(/\s+/);
}
