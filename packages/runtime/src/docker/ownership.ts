/** The label by which a hive knows its own containers and networks; its value is the hive's id. */
export const HIVE_LABEL = 'toolhive-hive';

/** The query by which the engine lists only what this hive made. */
export function ownedBy(hiveId: string): { filters: string } {
  return { filters: JSON.stringify({ label: [`${HIVE_LABEL}=${hiveId}`] }) };
}
