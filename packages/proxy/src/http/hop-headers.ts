import { hopHeaders as ofOneConnection } from '@toolhive/runtime/hop-headers';

/** The headers that are not passed on: those of one connection, and a demand that the proxy answers itself. */
export const hopHeaders: ReadonlySet<string> = new Set([...ofOneConnection, 'expect']);
