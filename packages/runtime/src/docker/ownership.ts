/** The label by which a daemon knows its own containers and networks; its value is the daemon's id. */
export const DAEMON_LABEL = 'toolhive-hive';

/** The label of containers that others join, so that they are removed last. */
export const PAUSE_LABEL = 'toolhive-pause';

/** The query by which the engine lists only what this daemon made. */
export function ownedBy(daemonId: string): { filters: string } {
  return { filters: JSON.stringify({ label: [`${DAEMON_LABEL}=${daemonId}`] }) };
}
