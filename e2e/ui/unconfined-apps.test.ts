// @suite ui (in depth)
import { expect, test } from 'vitest';
import { appPage, openAppsWorld, openForeignHost, showApp } from './apps-world.ts';
import { useBrowser } from './world.ts';

// As browsers are that do not know the header `Connection-Allowlist`.
useBrowser({ args: ['--disable-features=ConnectionAllowlists'] });

test('a browser that cannot keep an app from WebRTC shows the app only after a warning', async () => {
  await using foreign = await openForeignHost();
  const html = appPage(`
const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${foreign.udp}' }] });
peer.createDataChannel('x');
peer.createOffer().then((offer) => peer.setLocalDescription(offer));
connect().then(() => say('shown'));`);
  await using world = await openAppsWorld({ calling: { html } });
  await using visited = await world.open('/ui/w/apps/tools');
  const { page } = visited;

  const app = await showApp(page, 'calling');
  await page.getByText(/cannot keep an app from opening WebRTC connections/).waitFor();
  expect(await foreign.arrived()).toEqual([]);
  expect(page.frames().map((frame) => new URL(frame.url()).pathname)).not.toContainEqual(
    expect.stringMatching(/^\/page\//),
  );
  await page.getByRole('button', { name: 'Show the app in this browser' }).click();

  await app.getByText('shown').waitFor();
  await expect.poll(() => foreign.arrived()).toContain('datagram');
});
