import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { serveApps } from 'toolhive-test-servers/apps';
import type { AppsFixture, TestApp } from 'toolhive-test-servers/apps';
import type { FrameLocator, Page } from 'playwright-core';
import { openWorld } from './world.ts';
import type { UiWorld } from './world.ts';

export interface AppsWorld extends UiWorld {
  server: AppsFixture;
}

/** A daemon with the workload `apps`, whose tools have these apps. */
export async function openAppsWorld(
  apps: Readonly<Record<string, TestApp>>,
  changes: Record<string, unknown> = {},
  options: Parameters<typeof openWorld>[0] = {},
): Promise<AppsWorld> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openWorld(options));
  const shown = opened.use(await openApps(world, apps, changes));
  const everything = opened.move();
  return { ...shown, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

/** The workload `apps` in a world that other tests have, too, until it is disposed of. */
export async function openApps(
  world: UiWorld,
  apps: Readonly<Record<string, TestApp>>,
  changes: Record<string, unknown> = {},
): Promise<AppsWorld> {
  await using opened = new AsyncDisposableStack();
  const server = opened.use(await serveApps(apps));
  await world.create({ name: 'apps', url: server.url, ...changes });
  opened.defer(() => world.remove('apps'));
  const everything = opened.move();
  return { ...world, server, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

/** A page with a script that can talk to its host. `say` shows a text in the page. */
export function appPage(script: string): string {
  return `<!doctype html>
<html lang="en"><head><title>Test</title></head><body>
<p id="said" aria-live="polite"></p>
<script>
const waiting = new Map();
let nextId = 1;
const say = (text) => { document.getElementById('said').append(text + ' | '); };
const notify = (method, params = {}) => parent.postMessage({ jsonrpc: '2.0', method, params }, '*');
const request = (method, params = {}) => {
  const id = nextId++;
  parent.postMessage({ jsonrpc: '2.0', id, method, params }, '*');
  return new Promise((resolve) => waiting.set(id, resolve));
};
const heard = {};
addEventListener('message', ({ source, data }) => {
  if (source !== parent) return;
  if (data.method === undefined) waiting.get(data.id)?.(data.error ? 'error ' + data.error.message : data.result);
  else heard[data.method]?.(data.params, data.id);
});
const connect = async () => {
  const host = await request('ui/initialize', { appInfo: { name: 'test', version: '1' }, appCapabilities: {}, protocolVersion: '2026-01-26' });
  notify('ui/notifications/initialized');
  return host;
};
${script}
</script></body></html>`;
}

/** Calls the tool of an app, and returns its document. */
export async function showApp(page: Page, name: string): Promise<FrameLocator> {
  await page.getByRole('button', { name: `show-${name}`, exact: true }).click();
  await page.getByLabel(/^word/).fill('hello');
  await page.getByRole('button', { name: 'Call tool' }).click();
  return appIn(page);
}

/** The document of the shown app, inside of the gate. */
export function appIn(page: Page): FrameLocator {
  return page.frameLocator('.app-frame').frameLocator('iframe');
}

/** A web server of someone else, which must not learn anything. */
export interface ForeignHost extends AsyncDisposable {
  tcp: string;
  udp: string;
  /** Everything that has arrived, once everything that was sent before has. */
  arrived: () => Promise<string[]>;
}

export async function openForeignHost(): Promise<ForeignHost> {
  const seen: string[] = [];
  const server = createServer((socket) => {
    seen.push('connection');
    socket.on('data', (data) => seen.push(String(data).split('\r\n')[0] ?? ''));
    socket.on('error', () => {}); // the browser may give up
  });
  const udp = createSocket('udp4');
  udp.on('message', () => seen.push('datagram'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on no path
  return {
    tcp: `127.0.0.1:${port}`,
    udp: `127.0.0.1:${udp.address().port}`,
    async arrived() {
      const before = seen.length;
      // Connections and datagrams of this machine arrive in their order, so those of the browser are there before these.
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      const client = createSocket('udp4');
      client.send('last', udp.address().port, '127.0.0.1');
      while (!(seen.includes('connection', before) && seen.includes('datagram', before)))
        await setImmediate();
      socket.destroy();
      client.close();
      const all = seen.splice(0);
      for (const own of ['connection', 'datagram']) all.splice(all.lastIndexOf(own), 1);
      return all;
    },
    async [Symbol.asyncDispose]() {
      udp.close();
      server.close();
    },
  };
}
