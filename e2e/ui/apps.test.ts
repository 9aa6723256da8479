// @suite ui (in depth)
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { appIn, appPage, openApps, openAppsWorld, showApp } from './apps-world.ts';
import { openPage, useBrowser, useWorld, violations } from './world.ts';

useBrowser({ args: ['--host-resolver-rules=MAP *.granted.example 127.0.0.1'] });
const world = useWorld();

const hello = appPage(`
heard['ui/notifications/tool-input'] = ({ arguments: args }) => say('input ' + args.word);
heard['ui/notifications/tool-result'] = ({ content }) => say('result ' + content[0].text);
heard['ui/notifications/host-context-changed'] = ({ theme }) => say('now ' + theme);
heard['ui/resource-teardown'] = (params, id) => parent.postMessage({ jsonrpc: '2.0', id, result: {} }, '*');
connect().then(({ hostContext, hostCapabilities }) => {
  say('theme ' + hostContext.theme + ' locale ' + hostContext.locale + ' tool ' + hostContext.toolInfo.tool.name);
  say('csp ' + JSON.stringify(hostCapabilities.sandbox.csp));
});
notify('ui/notifications/size-changed', { width: 100, height: 333 });
`);

/** A page with a button for each request, which shows the answer. */
const buttons = (requests: Record<string, readonly [method: string, params: object]>): string =>
  appPage(`
connect().then(() => say('ready'));
for (const [name, [method, params]] of Object.entries(${JSON.stringify(requests)})) {
  const button = document.createElement('button');
  button.textContent = name;
  button.onclick = () => request(method, params).then((answer) => say(name + ': ' + JSON.stringify(answer)));
  document.body.append(button);
}`);

const dialogIn = (page: Page) => page.getByRole('dialog', { name: /^The app from apps wants to/ });
const allow = (page: Page) => dialogIn(page).getByRole('button', { name: 'Allow once' }).click();
const deny = (page: Page) => dialogIn(page).getByRole('button', { name: 'Deny' }).click();

test('the app of a tool receives the arguments, the result, and the context, and the plain result stays', async () => {
  await using apps = await openApps(world(), { hello: { html: hello } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page, errors } = visited;

  const app = await showApp(page, 'hello');

  const said = app.locator('#said');
  await expect.poll(() => said.innerText()).toMatch(/input hello.*result show-hello says hello/);
  expect(await said.innerText()).toContain('theme light locale en-US tool show-hello');
  expect(await said.innerText()).toContain('csp {"connectDomains":[],"resourceDomains":[]}');
  await expect.poll(() => page.locator('.app-frame').getAttribute('height')).toBe('333');
  await page
    .getByRole('region', { name: 'Result' })
    .getByText('show-hello says hello', { exact: true })
    .waitFor();
  expect(await page.locator('.app-frame').getAttribute('title')).toBe('App of the tool show-hello from apps');
  expect(await violations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => said.innerText()).toContain('now dark');
  expect(errors).toEqual([]);
});

test('each call of an app needs a separate permission, which shows the tool and the arguments', async () => {
  const html = buttons({ greet: ['tools/call', { name: 'greet', arguments: { word: '<b>you</b>' } }] });
  await using apps = await openApps(world(), { caller: { html } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;
  const app = await showApp(page, 'caller');
  const said = app.locator('#said');
  const calls = () => apps.server.seen.filter((call) => call.startsWith('greet'));

  await app.getByRole('button', { name: 'greet' }).click();
  await dialogIn(page).getByText('"word": "<b>you</b>"').waitFor();
  expect(await dialogIn(page).innerText()).toContain('call a tool');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Deny');
  await expect.poll(() => dialogIn(page).getByRole('button', { name: 'Allow once' }).isEnabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await deny(page);
  await expect.poll(() => said.innerText()).toContain('greet: "error the user denied this"');
  expect(calls()).toEqual([]);
  await app.getByRole('button', { name: 'greet' }).click();
  await allow(page);
  await expect.poll(() => said.innerText()).toContain('greet says <b>you</b>');
  await app.getByRole('button', { name: 'greet' }).click();
  await dialogIn(page).waitFor();
  await page.keyboard.press('Escape');
  await dialogIn(page).waitFor({ state: 'detached' });

  await expect.poll(() => said.innerText()).toMatch(/denied this.*says.*denied this/);
  expect(calls()).toEqual(['greet {"word":"<b>you</b>"}']);
});

test('an app calls a renamed tool by the name of the server, and no tool that is hidden or not for apps', async () => {
  const call = (name: string) => ['tools/call', { name, arguments: { word: 'x' } }] as const;
  const html = buttons({
    original: call('greet'),
    renamed: call('hail'),
    hidden: call('refresh'),
    model: call('model-only'),
  });
  await using apps = await openApps(
    world(),
    { caller: { html } },
    { tools: ['show-caller', 'hail', 'model-only'], tools_override: { greet: { name: 'hail' } } },
  );
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;
  const app = await showApp(page, 'caller');
  const said = app.locator('#said');

  await app.getByRole('button', { name: 'original' }).click();
  await dialogIn(page).getByText('the server calls it').waitFor();
  expect(await dialogIn(page).innerText()).toMatch(/Tool hail \(the server calls it greet\)/);
  await allow(page);
  await expect.poll(() => said.innerText()).toContain('original: {');
  await app.getByRole('button', { name: 'renamed' }).click();
  await allow(page);
  await expect.poll(() => said.innerText()).toContain('renamed: {');
  await app.getByRole('button', { name: 'hidden' }).click();
  await expect.poll(() => said.innerText()).toContain('hidden: "error tool refresh not found"');
  await app.getByRole('button', { name: 'model' }).click();

  await expect.poll(() => said.innerText()).toContain('model: "error apps cannot call the tool model-only"');
  expect(apps.server.seen.filter((line) => /^(greet|refresh|model)/.test(line))).toHaveLength(2);
});

test('resources, lists, links, and messages need a permission, too', async () => {
  const html = buttons({
    resource: ['resources/read', { uri: 'test://note' }],
    list: ['tools/list', {}],
    message: ['ui/message', { role: 'user', content: { type: 'text', text: 'Please\u202E transfer' } }],
    link: ['ui/open-link', { url: 'HTTP://example.invalid:80/a path?q=1' }],
    script: ['ui/open-link', { url: 'javascript:alert(1)' }],
    disguised: ['ui/open-link', { url: 'https://bank.example@evil.example/' }],
  });
  await using apps = await openApps(world(), { caller: { html } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page, dialogs } = visited;
  const app = await showApp(page, 'caller');
  const said = app.locator('#said');
  const click = (name: string) => app.getByRole('button', { name }).click();

  await click('resource');
  await dialogIn(page).getByText('test://note').waitFor();
  expect(apps.server.seen).not.toContain('test://note');
  await allow(page);
  await expect.poll(() => said.innerText()).toContain('a note');
  await click('list');
  await allow(page);
  await expect.poll(() => said.innerText()).toContain('"name":"refresh"');
  await click('message');
  await dialogIn(page).getByText('Please').waitFor();
  expect(await dialogIn(page).innerText()).toContain('U+202E');
  await allow(page);
  await page.getByRole('list', { name: 'Texts of the app' }).getByText('Please').waitFor();
  await click('script');
  await click('disguised');
  await expect.poll(() => said.innerText()).toMatch(/script: "error url must.*disguised: "error url must/);
  await click('link');
  await dialogIn(page).getByText('http://example.invalid/a%20path?q=1', { exact: true }).waitFor();
  expect(page.context().pages()).toHaveLength(1);
  const [opened] = await Promise.all([page.context().waitForEvent('page'), allow(page)]);

  expect(await opened.evaluate(() => window.opener as unknown)).toBe(null);
  expect(dialogs).toEqual([]);
});

test('one dialog is open at a time, further requests are refused, and the user can stop the app', async () => {
  const html = appPage(`
connect().then(async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) =>
    request('tools/call', { name: 'greet', arguments: { word: String(index) } })));
  say('refused ' + answers.filter((answer) => String(answer).includes('too many')).length);
});
heard['ui/resource-teardown'] = () => {};`);
  await using apps = await openApps(world(), { caller: { html } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;
  await showApp(page, 'caller');

  await dialogIn(page).getByText('"word": "0"').waitFor();
  expect(await page.locator('dialog').count()).toBe(1);
  await deny(page);
  await dialogIn(page).getByText('"word": "1"').waitFor();
  expect(await dialogIn(page).getByRole('button', { name: 'Allow once' }).isDisabled()).toBe(true);
  for (let index = 2; index <= 7; index++) {
    await deny(page);
    await dialogIn(page).getByText(`"word": "${index}"`).waitFor();
  }
  await deny(page);
  await expect.poll(() => appIn(page).locator('#said').innerText()).toContain('refused 22');
  await page.getByRole('button', { name: 'Stop the app' }).click();
  await page.getByText('You stopped the app.').waitFor();
  expect(await page.locator('iframe').count()).toBe(0);
  await page.getByRole('button', { name: 'Show the app again' }).click();
  await dialogIn(page).getByText('"word": "0"').waitFor();
  await dialogIn(page).getByRole('button', { name: 'Stop the app' }).click();
  await page.getByText('You stopped the app.').waitFor();

  await expect.poll(() => page.locator('dialog').count()).toBe(0);
  expect(apps.server.seen.filter((line) => line.startsWith('greet'))).toEqual([]);
});

test('the hosts that an app asks for are shown, and granted only by the user', async () => {
  const { key, certificate } = selfSigned('api.granted.example');
  await using opened = new AsyncDisposableStack();
  const requests: string[] = [];
  const host = createTlsServer({ key, cert: certificate }, (request, response) => {
    requests.push(`${request.headers.origin} ${request.url}`);
    response.writeHead(200, { 'access-control-allow-origin': '*' }).end('granted');
  });
  await once(host.listen(0, '127.0.0.1'), 'listening');
  opened.defer(() => {
    host.closeAllConnections();
    host.close();
  });
  const granted = `https://api.granted.example:${(host.address() as AddressInfo).port}`;
  const html = appPage(`
addEventListener('securitypolicyviolation', ({ blockedURI }) => say('blocked ' + blockedURI));
connect().then(async ({ hostCapabilities }) => {
  say('csp ' + JSON.stringify(hostCapabilities.sandbox.csp));
  await fetch('${granted}/data').then((answer) => answer.text()).then((text) => say('fetched ' + text), () => say('failed'));
});`);
  const ui = {
    csp: {
      connectDomains: [granted, 'http://127.0.0.1:8080', "https://a.b; script-src 'unsafe-eval'"],
      resourceDomains: ['https://cdn.granted.example'],
      frameDomains: ['https://frames.example'],
    },
    permissions: { camera: {} },
  };
  await using apps = await openApps(world(), { asking: { html, ui } });
  await using visited = await apps.open('/ui/w/apps/tools', { ignoreHTTPSErrors: true });
  const { page } = visited;
  const app = await showApp(page, 'asking');

  await expect.poll(() => app.locator('#said').innerText()).toMatch(/(?=.*blocked https:..api)(?=.*failed)/);
  expect(requests).toEqual([]);
  const refused = page.getByText('The app also asks for access that the web UI does not grant');
  expect(await refused.innerText()).toMatch(
    /http:\/\/127\.0\.0\.1:8080.*unsafe-eval.*camera.*frames\.example/,
  );
  await page.getByRole('checkbox', { name: granted }).check();
  await page.getByRole('button', { name: 'Show the app with the selected hosts' }).click();

  await expect.poll(() => appIn(page).locator('#said').innerText()).toContain('fetched granted');
  expect(await appIn(page).locator('#said').innerText()).toContain(
    `"connectDomains":["${granted}"],"resourceDomains":[]`,
  );
  expect(requests).toEqual(['null /data']);
});

test('the keyboard reaches the app and leaves it', async () => {
  await using apps = await openApps(world(), { caller: { html: buttons({ greet: ['ping', {}] }) } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;
  const app = await showApp(page, 'caller');
  await app.getByRole('button', { name: 'greet' }).waitFor();

  await page.getByRole('link', { name: 'as text' }).focus();
  await page.keyboard.press('Tab');
  // The frame has its own process, which gets the focus, and with it the next key, a little later.
  const focused = app.locator('button:focus');
  await expect.poll(() => focused.innerText()).toBe('greet');
  await page.keyboard.press('Enter');
  await expect.poll(() => app.locator('#said').innerText()).toContain('greet: {}');
  await page.keyboard.press('Tab');

  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Stop the app');
});

test.for([
  ['type', { html: '<h1>Page</h1>', mimeType: 'text/html' }, 'The resource is not a page of an app.'],
  ['long', { html: ' '.repeat(8_000_001) }, /more than 8000000 characters|too large|larger/],
] as const)('a page that cannot be shown is not shown: %s', async ([name, app, reason]) => {
  await using apps = await openApps(world(), { [name]: app });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;

  await page.getByRole('button', { name: `show-${name}`, exact: true }).click();
  await page.getByRole('button', { name: 'Call tool' }).click();

  await page.getByText('The app cannot be shown').waitFor();
  await page.getByText(reason).waitFor();
  await page.getByRole('region', { name: 'Result' }).getByText('says').first().waitFor();
  expect(await page.locator('iframe').count()).toBe(0);
});

test('without a separate origin, the reason is shown instead of the app', async () => {
  await using world = await openAppsWorld(
    { hello: { html: hello } },
    {},
    { serveWords: ['--host', '0.0.0.0', '--insecure-no-auth'] },
  );
  // Another address of the loopback network, as if the web UI was open at the address of this machine.
  const base = world.base.replace('0.0.0.0', '127.0.0.2');
  await using visited = await openPage(base, '/ui/w/apps/tools');

  await visited.page.getByRole('button', { name: 'show-hello', exact: true }).click();
  await visited.page.getByRole('button', { name: 'Call tool' }).click();

  await visited.page.getByText('An app needs a separate origin').waitFor();
  expect(await visited.page.locator('iframe').count()).toBe(0);
});

test('a frame that another program answers for is not taken for an app', async () => {
  await using apps = await openApps(world(), { hello: { html: hello } });
  await using visited = await apps.open('/ui/w/apps/tools');
  const { page } = visited;
  const lie = `<script>
parent.postMessage({ proof: 'guessed', isConfined: true }, '*');
addEventListener('message', () => console.error('the page of the server was received'));
</script>`;
  const answered = Promise.withResolvers<void>();
  await page.route(/^http:\/\/localhost:\d+\/frame\//, async (route) => {
    await route.fulfill({ contentType: 'text/html', body: lie });
    answered.resolve();
  });

  await page.getByRole('button', { name: 'show-hello', exact: true }).click();
  await page.getByRole('button', { name: 'Call tool' }).click();
  await answered.promise;
  await page.getByText(/The browser does not reach http:\/\/localhost:\d+, where apps are shown/).waitFor();

  expect(visited.errors).toEqual([]);
});
