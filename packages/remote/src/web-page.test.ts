import { describe, expect, test } from 'vitest';
import { openWorld } from './testing/remote-world.ts';
import { titleIn } from './web-page.ts';

const html = { 'content-type': 'text/html; charset=utf-8' };
const blocked =
  '<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>Ray ID: private</body></html>';
const shown = 'status 403 with the page "Attention Required! | Cloudflare"';

describe('a web page in the place of an answer', () => {
  test('of the token endpoint is told by its status and its title', async () => {
    await using world = await openWorld({ authority: { token: ({ reply }) => reply(403, blocked, html) } });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} did not return a token: ${shown}`,
    });
  });

  test('of the token endpoint is told with status 200, too', async () => {
    await using world = await openWorld({
      authority: { token: ({ reply }) => reply(200, '<h1>Sign in to <b>Acme</b></h1>', html) },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} did not return a token: status 200 with the page "Sign in to Acme"`,
    });
  });

  test('does not lose the grant when a token is renewed', async () => {
    await using world = await openWorld({ authority: { expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 61_000;
    world.authority.changes.token = ({ reply }) => reply(403, blocked, html);

    await expect(world.auth.headers()).rejects.toThrow(`did not return a new token: ${shown}`);

    delete world.authority.changes.token;
    world.clock.ms += 10_000;
    expect(await world.ask()).toBe(200);
  });

  test('of the registration is told by its status and its title', async () => {
    await using world = await openWorld({
      authority: { register: ({ reply }) => reply(403, blocked, html) },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} does not register this client: ${shown}`,
    });
  });

  test('of a gateway that writes JSON is told by its status', async () => {
    await using world = await openWorld({
      authority: { register: ({ reply }) => reply(403, { message: 'Forbidden' }) },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} does not register this client: status 403`,
    });
  });

  test.each<[string, number, string, string]>([
    ['403 and a page', 403, blocked, shown],
    ['401 and nothing', 401, '', 'status 401 without JSON'],
    ['the page of an application', 200, '<title>Acme</title>', 'status 200 with the page "Acme"'],
  ])('of the metadata of an authorization server is told: %s', async (_what, status, page, expected) => {
    await using world = await openWorld();
    const wellKnown = '/.well-known/oauth-authorization-server';
    world.authority.also(`GET ${wellKnown}`, ({ reply }) => reply(status, page, html));

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer}/ does not describe how to get a token (${world.authority.issuer}${wellKnown} returned ${expected})`,
      hint: 'configure the issuer, or its authorize_url and token_url',
    });
  });

  test('of the metadata of a remote server is told', async () => {
    await using world = await openWorld();
    const wellKnown = '/.well-known/oauth-protected-resource/mcp';
    world.remote.also(`GET ${wellKnown}`, ({ reply }) => reply(403, blocked, html));

    await expect(world.auth.authorize()).rejects.toThrow(
      `(${world.remote.origin}${wellKnown} returned ${shown})`,
    );
  });
});

test.each([
  ['<title>\n  Access &amp; denied </title>', 'Access & denied'],
  ['<title></title><h1>Blocked</h1>', 'Blocked'],
  [`<title>${'a'.repeat(200)}</title>`, `${'a'.repeat(80)}…`],
  ['<title>open', undefined],
  ['plain text', undefined],
])('the title in %j is %j', (text, title) => {
  expect(titleIn(text)).toBe(title);
});

/** With steps that grow with the square of the length, these texts would take minutes. */
test.each(['<title', '<title><', '<h1>&', '<'])('reads a long page of %j', { timeout: 60_000 }, (part) => {
  expect(titleIn(part.repeat(500_000 / part.length))).toBeUndefined();
});
