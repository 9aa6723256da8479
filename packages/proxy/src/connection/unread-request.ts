import { errorCodes, isObject } from '../jsonrpc/message.ts';

/** An error text is short. Larger output is not parsed again. */
const maxChars = 64 * 1024;

/** Returns the error in a response that names no request, because the server could not read the request. */
export function errorWithoutId(text: string): { code: number; message: string } | undefined {
  if (text.length > maxChars) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['id'] !== null || value['method'] !== undefined || !isObject(value['error']))
    return undefined;
  const { code, message } = value['error'];
  const isUnread = code === errorCodes.parseError || code === errorCodes.invalidRequest;
  return isUnread && typeof message === 'string' ? { code, message } : undefined;
}
