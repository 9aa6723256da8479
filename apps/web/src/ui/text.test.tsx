import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { ForeignLink, ForeignText } from './text.tsx';

test('characters that cannot be seen are shown as code points', async () => {
  const screen = await render(<ForeignText>{'safe\u202Egnp.exe\u200B\u0007'}</ForeignText>);

  await expect.poll(() => screen.container.textContent).toBe('safeU+202Egnp.exeU+200BU+0007');
});

test('markup is text, and a long text is cut off', async () => {
  const screen = await render(
    <ForeignText>{`<img src=x onerror=alert(1)>${'a'.repeat(30_000)}`}</ForeignText>,
  );

  await expect
    .poll(() => screen.container.textContent)
    .toMatch(/^<img src=x onerror=alert\(1\)>a+ … 10028 more characters$/);
  expect(screen.container.querySelector('img')).toBeNull();
});

test.each(['javascript:alert(1)', 'data:text/html,x', 'https://user:secret@example.com/', 'no address'])(
  '%s is not a link',
  async (url) => {
    const screen = await render(<ForeignLink url={url}>Click here</ForeignLink>);

    await expect.poll(() => screen.container.textContent).toContain(url);
    expect(screen.container.querySelector('a')).toBeNull();
  },
);

test('a link shows its host', async () => {
  const screen = await render(<ForeignLink url="https://evil.example/login">github.com</ForeignLink>);

  await expect.element(screen.getByRole('link')).toHaveTextContent('github.com (evil.example)');
});
