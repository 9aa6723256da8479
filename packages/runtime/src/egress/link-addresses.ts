/** Where a server resolves names: the gateway address of a container, and a loopback address in a sandbox. */
export const RESOLVER_ADDRESS = '198.18.0.1';

/** The address of a container in the network with its gateway. */
export const SERVER_ADDRESS = '198.18.0.2';

/** The address of the gateway that all sandboxes share. */
export const SHARED_GATEWAY_ADDRESS = '198.18.0.3';

const resolverOptions = ['timeout:2', 'attempts:1'];

/**
 * How the programs of a server resolve names: without a search list, which would make the queried name another one than
 * they connect to.
 */
export const resolverSettings = {
  options: resolverOptions,
  /** The text of `/etc/resolv.conf`. */
  text: `nameserver ${RESOLVER_ADDRESS}\noptions ${resolverOptions.join(' ')}\n`,
};
