import { clientApplications } from '@toolhive/contract/client-application';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { clientLogos } from './client-logos.ts';
import { ClientMark } from './client-mark.tsx';

test('every logo belongs to a client, and well-known clients have one', () => {
  const ids: readonly string[] = clientApplications.map(({ id }) => id);

  expect(Object.keys(clientLogos).filter((id) => !ids.includes(id))).toEqual([]);
  for (const id of ['cursor', 'claude-code', 'claude-desktop', 'windsurf', 'zed'])
    expect(clientLogos[id]).toMatch(/^[Mm]/);
});

test.each(['codex', 'toString'])('a client without a logo, such as %s, has its initials', async (id) => {
  const { container } = await render(<ClientMark id={id} product="OpenAI Codex" />);

  expect(container.querySelector('text')?.textContent).toBe('OC');
  expect(container.querySelector('path')).toBeNull();
});

test('a client with a logo has no initials', async () => {
  const { container } = await render(<ClientMark id="cursor" product="Cursor editor" />);

  expect(container.querySelector('path')?.getAttribute('d')).toBe(clientLogos['cursor']);
  expect(container.textContent).toBe('');
});
