import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { notFound } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { isUnavailable } from './managed-service.ts';
import { serviceManager } from './service-manager.ts';

/** Stops the service and removes its definition file. */
export async function run({ out }: CommandCall): Promise<void> {
  const manager = serviceManager();
  if (!existsSync(manager.path)) throw notFound('the ToolHive service is not installed');
  await manager.disable().catch((error: unknown) => {
    // Without its file, the service does not start again.
    if (!isUnavailable(error)) throw error;
    out.note(error instanceof Error ? error.message : String(error));
  });
  await rm(manager.path, { force: true });
  await manager.forget().catch(() => {}); // the manager reads its files again when it starts
  out.result({ manager: manager.name, path: manager.path }, `Removed the ToolHive service: ${manager.path}`);
}
