// @suite ui (in depth)
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowser, useWorld } from './world.ts';

useBrowser();
const world = useWorld({}, ({ run }) => run('tester'));

const result = (page: Page) => page.getByRole('region', { name: 'Result' });
/** Chooses an item of the list. The list moves while the page loads, and then a press can miss. */
async function choose(page: Page, name: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: new RegExp(`^${name}\\b`) }).click();
      return page.getByRole('heading', { name }).isVisible();
    })
    .toBe(true);
}
const call = async (page: Page, tool: string): Promise<void> => {
  await choose(page, tool);
  await page.getByRole('button', { name: 'Call tool' }).click();
};

test('the form of a JSON Schema and its JSON always agree, and problems are shown beside the fields', async () => {
  await using visited = await world().open('/ui/w/tester/tools?tool=form');
  const { page, errors } = visited;
  const json = page.getByLabel('JSON', { exact: true });

  await page.getByLabel(/^message/).focus();
  expect(await page.getByText('is required').count()).toBe(0);
  await page.keyboard.press('Tab');
  await page.getByText('is required').first().waitFor();
  await page.getByLabel(/^message/).fill('hello');
  await page.getByLabel(/^count/).fill('99');
  await page.getByLabel(/^color/).selectOption('green');
  await page.getByLabel(/^size/).selectOption('Large');
  await page.getByLabel(/^when/).fill('2026-01-31');
  await page.getByRole('button', { name: 'Set note to null' }).click();
  await page.getByRole('group', { name: 'tags' }).getByRole('button', { name: 'Add an item' }).click();
  await page.getByRole('group', { name: 'tags 1' }).getByLabel(/^name/).fill('first');
  await page.getByRole('group', { name: 'place' }).getByRole('button', { name: 'Add' }).click();
  await page.getByLabel(/^city/).fill('Zürich');
  await page.getByRole('group', { name: 'either' }).getByLabel('Kind').selectOption('Number');
  await page.getByRole('textbox', { name: 'Number' }).fill('1.5');

  const expected = {
    message: 'hello',
    count: 99,
    color: 'green',
    size: 2,
    when: '2026-01-31',
    note: null,
    tags: [{ name: 'first' }],
    place: { city: 'Zürich' },
    either: 1.5,
  };
  await expect.poll(async () => JSON.parse(await json.inputValue()) as object).toEqual(expected);
  await page
    .locator('.field')
    .getByText(/greater than/)
    .waitFor();
  await json.fill(JSON.stringify({ message: 'from JSON', count: 3 }));
  await expect.poll(() => page.getByLabel(/^message/).inputValue()).toBe('from JSON');
  await expect.poll(() => page.getByLabel(/^count/).inputValue()).toBe('3');
  await page.getByRole('button', { name: 'Call tool' }).click();
  await expect.poll(() => result(page).innerText()).toContain('"from JSON"');
  expect(errors).toEqual([]);
});

test('a number that JavaScript cannot represent exactly is never sent as another one', async () => {
  await using visited = await world().open('/ui/w/tester/tools?tool=form');
  const { page } = visited;

  await page.getByLabel(/^message/).fill('x');
  await page.getByLabel(/^count/).fill('9007199254740993');

  await page.getByText('must be a number that can be represented exactly').waitFor();
  expect(await page.getByLabel('JSON', { exact: true }).inputValue()).not.toContain('9007199254740992');
});

test('a pattern of a server that takes forever does not stop the page', async () => {
  await using visited = await world().open('/ui/w/tester/tools?tool=regular');
  const { page } = visited;

  await page.getByLabel(/^word/).fill(`${'a'.repeat(40)}!`);

  await page.getByText('The schema of the server could not be checked.').waitFor();
  await page.getByRole('button', { name: 'structured', exact: true }).click();
  await page.getByRole('heading', { name: 'structured' }).waitFor();
});

test('servers ask for input and for text of a model in the course of a call', async () => {
  await using visited = await world().open('/ui/w/tester/tools');
  const { page } = visited;
  await page.getByRole('heading', { name: 'Try it' }).waitFor();

  await call(page, 'ask');
  const dialog = page.getByRole('dialog', { name: 'tester asks for input' });
  await dialog.getByLabel(/^Your name/).fill('Ada');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => result(page).innerText()).toMatch(/"action": "accept"[^]*"name": "Ada"/);
  await call(page, 'ask');
  await dialog.getByRole('button', { name: 'Decline' }).click();
  await expect.poll(() => result(page).innerText()).toContain('"action": "decline"');
  await call(page, 'sample');
  await dialog.getByLabel('Answer').fill('a poem');
  await dialog.getByRole('button', { name: 'Send' }).click();

  await expect.poll(() => result(page).innerText()).toContain('a poem');
});

test('a call shows its progress, can be canceled, and can be replayed', async () => {
  await using visited = await world().open('/ui/w/tester/tools');
  const { page } = visited;

  await call(page, 'slow');
  await page.getByText(/step \d+/).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText(/Canceled after/).waitFor();
  await page.getByText('Calls in this tab (1)').click();
  await page.getByRole('button', { name: 'Replay' }).click();

  await page.getByText(/step \d+/).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText('Calls in this tab (2)').waitFor();
});

test('the server learns that its user has left during a call, or instead of an answer', async () => {
  await world().run('left');
  await using visited = await world().open('/ui/w/left/tools');
  const { page } = visited;
  const cancellations = async (): Promise<number> => {
    const log = await (await world().api('GET', '/workloads/left/logs')).text();
    return log.split('a call was canceled').length - 1;
  };

  await call(page, 'slow');
  await page.getByText(/step \d+/).waitFor();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await expect.poll(cancellations).toBe(1);
  await page.goto('/ui/w/left/tools');
  await call(page, 'ask');
  await page.getByRole('dialog', { name: 'left asks for input' }).waitFor();
  await page.goto('/ui/settings');
  await expect.poll(cancellations).toBe(2);
  await page.goto('/ui/w/left/tools');
  await call(page, 'sample');
  await page.getByRole('dialog', { name: 'left asks for input' }).waitFor();
  await page.close();

  await expect.poll(cancellations).toBe(3);
});

test('results are shown as text, picture, sound, link, and structure, and checked against the schema', async () => {
  await using visited = await world().open('/ui/w/tester/tools');
  const { page, foreign, errors } = visited;

  await call(page, 'content');
  await page.getByRole('img', { name: 'Image from the server' }).first().waitFor();
  await page.getByLabel('Sound from the server').waitFor();
  const link = page.getByRole('link', { name: /example\.com/ });
  expect(await link.getAttribute('rel')).toContain('noopener');
  await call(page, 'structured');
  await page.getByText('It matches the output schema.').waitFor();

  expect(foreign).toEqual([]);
  expect(errors).toEqual([]);
});

test('prompts and resources can be read, also those of a template', async () => {
  await using visited = await world().open('/ui/w/tester/tools');
  const { page } = visited;

  await choose(page, 'greet');
  await page.getByLabel(/^who/).fill('Ada');
  await page.getByRole('button', { name: 'Get prompt' }).click();
  await expect.poll(() => result(page).innerText()).toContain('Greet Ada.');
  await choose(page, 'note');
  await page.getByRole('button', { name: 'Read resource' }).click();
  await expect.poll(() => result(page).innerText()).toContain('Content of test://note.');
  await choose(page, 'item');
  await page.getByLabel(/^id/).fill('a b/c');
  await page.getByRole('button', { name: 'Read resource' }).click();

  await expect.poll(() => result(page).innerText()).toContain('Content of test://item/a%20b%2Fc.');
});

test('the copied commands do the same', async () => {
  await using visited = await world().open('/ui/w/tester/tools?tool=form', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page } = visited;
  await page.getByLabel(/^message/).fill("it's");
  const copied = async (name: string): Promise<string> => {
    await page.getByRole('button', { name }).click();
    return page.evaluate(() => navigator.clipboard.readText());
  };

  const thv = await copied('Copy as thv');
  const curl = await copied('Copy as curl');

  const { execFile } = await import('node:child_process');
  const { promisify } = await import('node:util');
  const { root, thvScript } = await import('../testing/thv.ts');
  const run = async (script: string): Promise<string> =>
    (await promisify(execFile)('sh', ['-c', script], { env: world().user.env, cwd: root })).stdout;
  expect(await run(thv.replace(/^thv/, `${process.execPath} ${thvScript}`))).toContain(`"it's"`);
  expect(await run(curl)).toContain(String.raw`\"it's\"`);
});

test('a tool is renamed, disabled, and enabled again', async () => {
  await world().run('renamed');
  await using visited = await world().open('/ui/w/renamed/tools?tool=slow');
  const { page } = visited;
  const tools = async (): Promise<unknown> =>
    ((await (await world().api('GET', '/workloads/renamed')).json()) as { tools?: unknown }).tools;

  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByLabel('Name that clients see').fill('patient');
  await page.getByText('The server restarts.').waitFor();
  await page.getByRole('button', { name: 'Save and restart' }).click();
  await page.getByRole('button', { name: 'patient', exact: true }).waitFor();
  await page.getByRole('button', { name: 'ask', exact: true }).click();
  await page.getByRole('button', { name: 'Disable this tool' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save and restart' }).click();

  await expect.poll(tools).not.toContain('ask');
  await page.getByRole('button', { name: /^ask disabled/ }).waitFor();
});
