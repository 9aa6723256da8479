import { afterEach, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { CopyButton } from './copy.tsx';

test('the name of a button names the copied text, before and after', async () => {
  const write = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue();
  const screen = await render(
    <>
      <CopyButton label="Copy URL" what="of echo" text="http://127.0.0.1:1/mcp" />
      <CopyButton label="Copy URL" what={'of a\u202Eb'} text="http://127.0.0.1:2/mcp" />
    </>,
  );

  await expect
    .element(screen.getByRole('button', { name: 'Copy URL of a[U+202E]b', exact: true }))
    .toBeVisible();
  await screen.getByRole('button', { name: 'Copy URL of echo', exact: true }).click();

  await expect.element(screen.getByRole('button', { name: 'Copied of echo', exact: true })).toBeVisible();
  expect(write).toHaveBeenCalledWith('http://127.0.0.1:1/mcp');
});

afterEach(() => vi.restoreAllMocks());
