import { expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import type { Values } from '../../api/mcp.ts';
import Result from './result.tsx';

const show = (result: Values) =>
  render(<Result workload="odd" result={result} ms={1} outputSchema={undefined} />);

test('data that is nested too deeply does not take the screen away', async () => {
  const depth = 20_000;
  const nested = JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;

  const screen = await show({ content: [{ type: 'text', text: 'readable' }], structuredContent: nested });

  await expect.element(screen.getByText('readable')).toBeVisible();
  await expect.element(screen.getByText(/nested too deeply/).first()).toBeVisible();
});

test('items of a long result are shown in parts', async () => {
  const content = Array.from({ length: 1_000 }, (_, index) => ({ type: 'text', text: `item ${index}.` }));

  const screen = await show({ content });

  await expect.element(screen.getByText('item 99.', { exact: true })).toBeVisible();
  expect(screen.getByText('item 100.', { exact: true }).query()).toBe(null);
  await screen.getByRole('button', { name: 'Show 100 of 900 more items' }).click();
  await expect.element(screen.getByText('item 199.', { exact: true })).toBeVisible();
});

test('data that only begins like Base64 does not stop the page', async () => {
  const data = `${' '.repeat(2_000_000)}!`;

  const screen = await show({ content: [{ mimeType: 'image/png', type: 'image', data }] });

  await expect.element(screen.getByText(/"mimeType": "image\/png"/).first()).toBeVisible();
});

test('a picture may have a common but wrong media type', async () => {
  const data =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  const screen = await show({ content: [{ type: 'image', mimeType: 'IMAGE/JPG', data }] });

  const picture = screen.getByRole('img', { name: 'Image from the server' });
  await expect.poll(() => (picture.element() as HTMLImageElement).naturalWidth).toBe(1);
});

test('a long text is shown step by step up to its end, and copied as a whole', async () => {
  const copied = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue();
  const text = `${'line of a long text 😀\n'.repeat(20_000)}the end`;

  const screen = await show({ content: [{ type: 'text', text }] });

  await expect
    .element(screen.getByText(`20,000 of ${text.length.toLocaleString('en')} characters`))
    .toBeVisible();
  await screen.getByRole('button', { name: /^Copy all/ }).click();
  expect(copied).toHaveBeenCalledWith(text);
  await screen.getByRole('button', { name: 'Show 100,000 more' }).click();
  await screen.getByRole('button', { name: 'Show 120,000 more' }).click();
  await screen.getByRole('button', { name: 'Show all' }).click();
  await expect.element(screen.getByText('the end', { exact: false }).first()).toBeInTheDocument();
  const parts = [...screen.container.querySelectorAll('.text-part')].map((part) => part.textContent);
  expect(parts.join('\n')).toBe(text);
  expect(screen.getByRole('button', { name: 'Show all' }).query()).toBe(null);
});

test('five megabytes in one line are shown to their end', async () => {
  const text = `${'x'.repeat(5_000_000)}end`;

  const screen = await show({ content: [{ type: 'text', text }] });

  const more = screen.getByRole('button', { name: /^Show/ });
  while (more.query() !== null) await more.click();
  await expect.poll(() => screen.container.querySelector('pre')?.textContent?.length).toBe(text.length);
});
