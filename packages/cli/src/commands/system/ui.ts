import type { CommandCall } from '../../command.ts';

/** Prints the URL of the web UI, and opens it in the user's browser. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const address = await daemon.openUi({}, { signal });
  out.result(address, (page) => page.line(address.url));
  if (flags.has('no-browser')) return;
  const { default: open } = await import('open');
  try {
    await open(address.url);
  } catch {
    out.note('no browser could be started. Open the URL yourself');
  }
}
