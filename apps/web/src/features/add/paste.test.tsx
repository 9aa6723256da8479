import { expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { maxImportText } from '@toolhive/contract/import-text';
import { answerAs } from '../../testing/daemon.ts';
import { Paste } from './paste.tsx';

test('the content of a text is announced, and a problem is a sentence in the section of its server', async () => {
  const problem = 'this is the page of a repository on github.com, not the address of an MCP server';
  answerAs({
    previewImport: () => ({
      servers: [{ name: 'server', notes: [], needs: [], problem, hint: 'use another' }],
    }),
  });
  const screen = await render(<Paste />);

  await screen.getByLabelText(/^Configuration or command/).fill('https://github.com/acme/server');
  await screen.getByRole('button', { name: 'Continue' }).click();

  await expect
    .element(screen.getByRole('status'))
    .toHaveTextContent('The text contains 1 server, 1 of which cannot run as written.');
  await expect
    .element(screen.getByRole('region', { name: 'server' }).getByText(/^This is the page .* server\.$/))
    .toBeVisible();
});

test('a text that is too long is not taken, and the field says so', async () => {
  const sent = answerAs({});
  const screen = await render(<Paste />);
  const field = screen.getByLabelText(/^Configuration or command/);
  await field.click();
  const data = new DataTransfer();
  data.setData('text/plain', 'a'.repeat(maxImportText + 1));

  field
    .element()
    .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  await expect.element(field).toHaveAccessibleDescription(/500,001 characters, and the limit is 500,000/);
  await expect.element(field).toHaveAttribute('aria-invalid', 'true');
  await userEvent.keyboard('npx -y one');

  await expect.element(field).toHaveAttribute('aria-invalid', 'false');
  await expect.element(field).toHaveValue('npx -y one');
  expect(sent).toEqual([]);
});
