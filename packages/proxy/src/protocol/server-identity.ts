import { isObject } from '../jsonrpc/message.ts';

/** Capabilities as clients require them: objects. Serializers write null, a flag, or an empty list instead. */
export function readableCapabilities(value: unknown): Record<string, unknown> {
  if (!isObject(value)) return {};
  if (Object.values(value).every(isObject)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, capability]) => {
      if (isObject(capability)) return [[name, capability]];
      return isOffered(capability) ? [[name, {}]] : [];
    }),
  );
}

/** PHP writes an empty list for an object without members. */
function isOffered(capability: unknown): boolean {
  return capability === true || Array.isArray(capability);
}

const unknown = 'unknown';

/** The name and the version of a server, which clients require as text. */
export function readableServerInfo(value: unknown): Record<string, unknown> {
  const given = isObject(value) ? value : {};
  const { name, title, version } = given;
  const named = [name, title].find((text) => typeof text === 'string' && text !== '') ?? unknown;
  const text = typeof version === 'number' ? String(version) : version;
  const written = typeof text === 'string' ? text : unknown;
  return named === name && written === version ? given : { ...given, name: named, version: written };
}
