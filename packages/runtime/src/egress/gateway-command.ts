import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/** The argument with which the single executable starts as the process of the egress gateways. */
export const gatewayWord = '--egress-gateways';
/** The file of the process, beside the bundle of the daemon. */
export const gatewayFile = 'egress-gateways.js';

/** What the process may do: nothing with files, programs, or native code. It has no environment either. */
const confinement = (folder: string): string[] => ['--permission', `--allow-fs-read=${folder}`];

/** One thread, and a heap that no number of allowed connections fills. */
const frugal = ['--v8-pool-size=0', '--max-old-space-size=256', '--disable-warning=ExperimentalWarning'];

interface Command {
  args: readonly string[];
  env: Record<string, string>;
}

/** How Node.js runs the process, which may read only its own program. */
export function gatewayCommand(): Command {
  // The single executable takes options of Node.js only from the environment.
  if (isSea()) return { args: [gatewayWord], env: { NODE_OPTIONS: '--permission' } };
  const here = import.meta.url;
  const isSource = here.endsWith('.ts');
  const program = fileURLToPath(new URL(isSource ? 'gateway-main.ts' : `../${gatewayFile}`, here));
  const folder = fileURLToPath(new URL(isSource ? '../../../../' : '../', here));
  return { args: [...confinement(folder), ...frugal, program], env: {} };
}
