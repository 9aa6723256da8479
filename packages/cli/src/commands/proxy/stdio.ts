import { adaptStdio } from '@toolhive/proxy/stdio-adapter';
import type { CommandCall } from '../../command.ts';
import { workloadEndpoint } from '../endpoint.ts';

/** Carries messages between this process's standard input and output and a workload. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: given, out, signal } = call;
  const { stdin: input, stdout: output } = process;
  const url = await workloadEndpoint(given[0] ?? '', call);
  try {
    await adaptStdio({
      input,
      output,
      url,
      onInvalidOutput: (line) => out.note(`not a message: ${line.slice(0, 200)}`),
      signal,
    });
  } finally {
    input.destroy(); // an open pipe would keep this process running
  }
}
