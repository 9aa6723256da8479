/** The label by which a daemon finds its containers and networks. The value is the daemon ID. */
export const DAEMON_LABEL = 'toolhive-hive';

/** The label of containers that others join, so that they are removed last. */
export const NETWORK_LABEL = 'toolhive-pause';

/** The query that lists only this daemon's objects. */
export function ownedBy(daemonId: string): { filters: string } {
  return { filters: JSON.stringify({ label: [`${DAEMON_LABEL}=${daemonId}`] }) };
}
