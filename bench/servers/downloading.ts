// A daemon's part of two workloads: one that is measured, and one whose server downloads through its egress gateway as
// fast as it can: `node downloading.ts gateway ADDRESS`. With `url URL`, the server downloads without a gateway, and with
// `nothing`, not at all.
import { type ChildProcess, spawn } from 'node:child_process';
import { serveParent } from '../child.ts';
import { openEchoProxy } from './open-proxy.ts';
import { runBehindGateway } from './sandboxed.ts';

const [kind = 'nothing', where = ''] = process.argv.slice(2);
const port = await openEchoProxy();
const script = new URL('./egress-client.ts', import.meta.url).pathname;
const command = (url: string): string[] => [script, url, 'stream', '1000000'];

async function startDownload(): Promise<ChildProcess | undefined> {
  if (kind === 'gateway')
    return runBehindGateway({ rules: { hosts: [where], ports: [80] } }, command(`http://${where}`));
  return kind === 'url' ? spawn(process.execPath, command(where), { stdio: 'ignore' }) : undefined;
}

const client = await startDownload();
serveParent({ port }, async () => void client?.kill('SIGKILL'));
