/** The form of a host that an app may contact. The value becomes a part of headers, so it has no other characters. */
export const appHostForm =
  /^(?:https|wss):\/\/(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::\d{1,5})?$/;

/** The last labels of names that lead to services of this machine or its network. */
const localNames = /\.(?:localhost|local|internal|lan|home|arpa)(?::\d+)?$/;

/** Whether an MCP App may contact a host: `https` or `wss`, a public name, and optionally a port. */
export function isAppHost(host: string): boolean {
  return appHostForm.test(host) && !localNames.test(host);
}

/** The most hosts of each kind. */
export const maxAppHosts = 20;
