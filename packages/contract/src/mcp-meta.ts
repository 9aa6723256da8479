/**
 * The member of `_meta` with which a client gives up a call whose server waits for input. The client repeats the
 * request with its `requestState` and with the value `true`. MCP has no such message: without it, the proxy keeps the call
 * at the server until the time limit for answers.
 */
export const abandonKey = 'dev.toolhive/abandon';
