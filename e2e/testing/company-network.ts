import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { openStandInHosts } from '@toolhive/runtime/testing/stand-in-hosts';
import { until } from './thv.ts';

/** The hosts outside of the company. Only its proxy can resolve their names. */
export const outside = { host: 'outside.example', other: 'elsewhere.example' };

/** A network that leads nowhere, except to a proxy. */
export interface CompanyNetwork extends AsyncDisposable {
  /** The words before a command that runs in this network. */
  enter: readonly [string, ...string[]];
  /** What programs in this network have in their environment. */
  env: NodeJS.ProcessEnv;
  /** What the proxy was asked for, such as `CONNECT outside.example:443`. */
  asked(): Promise<string[]>;
  /** Runs a script for Node.js as a person in this network would open a page, through the proxy. */
  evaluate(script: string): Promise<string>;
}

/** Opens a network with tinyproxy, outside of which `serve` answers on ports 80 and 443. */
export async function openCompanyNetwork(serve: RequestListener): Promise<CompanyNetwork> {
  await using opened = new AsyncDisposableStack();
  const hosts = opened.use(await openStandInHosts(`console.log('ready'); setInterval(() => {}, 1e6);`, 1));
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'thv-company-')));
  const { key, certificate } = selfSigned(outside.host);
  for (const [server, port] of [
    [createServer(serve), 80],
    [createTlsServer({ key, cert: certificate }, serve), 443],
  ] as const) {
    await once(server.listen(port, hosts.near), 'listening');
    opened.defer(async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
  }
  const path = (name: string): string => join(folder.path, name);
  const port = 3128;
  await writeFile(path('ca.pem'), certificate);
  await writeFile(path('hosts'), `127.0.0.1 localhost\n${hosts.near} ${outside.host} ${outside.other}\n`);
  // As companies configure it: tunnels to port 443 only.
  const settings = [`Port ${port}`, `Listen ${hosts.near}`, 'ConnectPort 443', `LogFile "${path('log')}"`];
  await writeFile(path('conf'), `${settings.join('\n')}\nLogLevel Connect\nMaxClients 100\n`);
  const proxy = spawn(
    'unshare',
    [
      '--mount',
      'sh',
      '-c',
      'mount --bind "$1" /etc/hosts && exec tinyproxy -d -c "$2"',
      'sh',
      path('hosts'),
      path('conf'),
    ],
    { stdio: 'ignore' },
  );
  opened.defer(async () => {
    const ended = once(proxy, 'exit');
    if (proxy.exitCode === null && proxy.kill('SIGKILL')) await ended;
  });
  const address = `http://${hosts.near}:${port}`;
  await until(() => isReachable(hosts.near, port));
  const enter = ['nsenter', `--net=/run/netns/${hosts.namespace}`] as const;
  const env = { HTTP_PROXY: address, HTTPS_PROXY: address, SSL_CERT_FILE: path('ca.pem') };
  const everything = opened.move();
  return {
    enter,
    env,
    async asked() {
      const log = await readFile(path('log'), 'utf8');
      return [...log.matchAll(/Request \(file descriptor \d+\): (\S+ \S+)/g)].map(
        ([, request = '']) => request,
      );
    },
    async evaluate(script) {
      const [file, ...args] = [...enter, process.execPath, '--input-type=module', '--eval', script] as const;
      const options = {
        env: {
          ...env,
          NODE_EXTRA_CA_CERTS: path('ca.pem'),
          NODE_USE_ENV_PROXY: '1',
          NO_PROXY: 'localhost,127.0.0.1',
        },
      };
      return (await promisify(execFile)(file, args, options)).stdout;
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function isReachable(host: string, port: number): Promise<boolean> {
  const answer = await fetch(`http://${host}:${port}/`).catch(() => undefined);
  return answer !== undefined;
}
