/**
 * A host that an MCP App may contact: `https` or `wss`, a public name, and optionally a port. The value becomes a part of
 * headers, so it has no other characters. Addresses and local names would lead to services of this machine or its network.
 */
export const appHost =
  /^(?:https|wss):\/\/(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!(?:localhost|local|internal|lan|home|arpa)(?::|$))[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::\d{1,5})?$/;

/** The most hosts of each kind. */
export const maxAppHosts = 20;
