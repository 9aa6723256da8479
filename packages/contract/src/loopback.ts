/** Whether only programs on this machine can reach a listener on `host`: an address, or the host name of a URL. */
export function isLoopback(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || /^127(\.\d+){3}$/.test(host);
}
