import '../../css/styles.css';
import { expect, test } from 'vitest';
import { page } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { Bar } from './bar.tsx';
import { Lanes } from './lanes.tsx';
import { Sparkline } from './sparkline.tsx';
import { Strip } from './strip.tsx';
import { Topology } from './topology.tsx';

test('drawings have their content as text, and mark problems by shape', async () => {
  await render(
    <>
      <Sparkline values={[0, 5, 10]} problems={[0, 1, 0]} label="15 calls and 1 error" />
      <Bar amount={4} problems={1} most={8} label="4 calls, 1 error" />
      <Strip
        moments={[{ key: 1, amounts: [3, 1], label: '9:30: 3 allowed, 1 denied' }]}
        classes={['drawn-amount', 'drawn-bad']}
        label="3 allowed, 1 denied"
      />
      <Lanes
        lanes={[
          {
            name: 'cursor',
            events: [
              { key: 1, at: 0, lasted: 100, isProblem: false },
              { key: 2, at: 500, lasted: 10, isProblem: true },
            ],
          },
        ]}
        from={0}
        to={1_000}
        label="cursor: 2 calls"
      />
    </>,
  );

  for (const name of ['15 calls and 1 error', '4 calls, 1 error', '3 allowed, 1 denied', 'cursor: 2 calls'])
    await expect.element(page.getByRole('img', { name })).toBeInTheDocument();
  const points = document.querySelector('.sparkline polyline')?.getAttribute('points')?.split(' ');
  expect(points?.map((point) => Number(point.split(',')[0]))).toEqual([0, 48, 96]);
  expect(document.querySelector('.sparkline .drawn-problem')?.getAttribute('d')).toBe('M48 16v4');
  expect(document.querySelector('.bar .drawn-amount')?.getAttribute('width')).toBe('37.5');
  const [call, failure] = document.querySelectorAll('.lanes rect:not(.drawn-ground)');
  expect(Number(failure?.getAttribute('height'))).toBeGreaterThan(Number(call?.getAttribute('height')));
});

test('a topology has a link for each line, whose width is its amount, and dashes for refusals', async () => {
  await page.viewport(1280, 720);
  const { container } = await render(
    <div style={{ width: 900 }}>
      <Topology
        label="Clients, servers, and hosts"
        columns={[
          [{ id: 'c', label: 'cursor' }],
          [
            { id: 's', label: 'a-server-with-a-name-that-is-much-too-long-for-its-box', href: '/w/s' },
            { id: 't', label: 'other' },
          ],
          [{ id: 'h', label: 'evil.example', look: 'bad' }],
        ]}
        links={[
          { from: 'c', to: 's', amount: 100, isDenied: false, href: '/w/s/traffic?q=cursor', label: 'much' },
          { from: 'c', to: 't', amount: 1, isDenied: false, href: '/w/t/traffic', label: 'little' },
          { from: 's', to: 'h', amount: 3, isDenied: true, href: '/w/s/network', label: '3 denied' },
          { from: 's', to: 'nowhere', amount: 3, isDenied: true, href: '/', label: 'not drawn' },
        ]}
      />
    </div>,
  );

  await expect
    .element(page.getByRole('link', { name: 'much', exact: true }))
    .toHaveAttribute('href', '/w/s/traffic?q=cursor');
  await expect.element(page.getByRole('link', { name: 'not drawn', exact: true })).not.toBeInTheDocument();
  const widthOf = (name: string): number =>
    Number(
      page
        .getByRole('link', { name, exact: true })
        .element()
        .querySelector('[stroke-width]')
        ?.getAttribute('stroke-width'),
    );
  expect(widthOf('much')).toBeGreaterThan(3 * widthOf('little'));
  const denied = page
    .getByRole('link', { name: '3 denied', exact: true })
    .element()
    .querySelector('.link-denied');
  expect(denied === null ? '' : getComputedStyle(denied).strokeDasharray).not.toBe('none');
  const frame = container.querySelector('.topology')?.getBoundingClientRect();
  for (const text of container.querySelectorAll('text')) {
    const box = text.previousElementSibling?.parentElement?.querySelector('rect')?.getBoundingClientRect();
    expect(text.getBoundingClientRect().right).toBeLessThanOrEqual((box?.right ?? 0) + 1);
    expect(box?.right).toBeLessThanOrEqual(frame?.right ?? 0);
  }
});
