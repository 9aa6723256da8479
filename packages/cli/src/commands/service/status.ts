import { existsSync } from 'node:fs';
import type { CommandCall } from '../../command.ts';
import { isUnavailable } from './managed-service.ts';
import { serviceManager } from './service-manager.ts';

/** Shows whether the service is installed, enabled, and running. */
export async function run({ out }: CommandCall): Promise<void> {
  const manager = serviceManager();
  const installed = existsSync(manager.path);
  const none = { enabled: false, running: false, pid: undefined };
  const { enabled, running, pid } = await manager.state().catch((error: unknown) => {
    if (!installed && isUnavailable(error)) return none;
    throw error;
  });
  const status = { installed, enabled, running, pid: pid ?? null, manager: manager.name, path: manager.path };
  out.result(status, (page) => {
    if (!installed) return page.line('The ToolHive service is not installed.');
    page.line(`Manager  ${manager.name}`);
    page.line(`File     ${manager.path}`);
    page.line(`Enabled  ${enabled ? 'yes' : 'no'}`);
    page.line(`Running  ${running ? `yes, as process ${pid}` : 'no'}`);
    page.line(`Logs     ${manager.logs}`);
  });
}
