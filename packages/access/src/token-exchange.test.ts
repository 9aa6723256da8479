import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { tokenExchange } from './token-exchange.ts';
import type { TokenExchangeOptions } from './token-exchange.ts';

/** An authorization server that gives everyone a numbered token, and remembers what it was asked. */
async function openTokenServer(answer: (form: URLSearchParams) => object | undefined = () => ({})) {
  const requests: { form: URLSearchParams; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      requests.push({ form, authorization: request.headers.authorization });
      const extra = answer(form);
      response.writeHead(extra === undefined ? 400 : 200, { 'content-type': 'application/json' });
      const token = {
        access_token: `new-${requests.length}`,
        token_type: 'Bearer',
        issued_token_type: 'x',
        ...extra,
      };
      response.end(JSON.stringify(extra === undefined ? { error: 'invalid_grant' } : token));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    requests,
    tokenUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the exchange of a token', () => {
  test('asks for one that the server accepts', async () => {
    await using server = await openTokenServer();
    const exchange = tokenExchange({
      tokenUrl: server.tokenUrl,
      clientId: 'thv',
      clientSecret: 'its secret',
      audience: 'backend',
      scopes: ['read', 'write'],
      subjectTokenType: 'id_token',
    });

    const headers = await exchange('the token of the caller');

    expect(headers).toEqual({ authorization: 'Bearer new-1' });
    const [{ form, authorization } = { form: new URLSearchParams(), authorization: '' }] = server.requests;
    expect(Object.fromEntries(form)).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'the token of the caller',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'backend',
      scope: 'read write',
    });
    expect(authorization).toBe(`Basic ${Buffer.from('thv:its+secret').toString('base64')}`);
  });

  test('is done once for a token, until the new one is about to expire', async () => {
    await using server = await openTokenServer(() => ({ expires_in: 100 }));
    let now = 1_000_000;
    const exchange = tokenExchange({ tokenUrl: server.tokenUrl }, () => now);

    const first = await exchange('one');
    const same = await exchange('one');
    const other = await exchange('two');
    now += 95_000;
    const later = await exchange('one');

    expect([first, same, other, later].map(({ authorization }) => authorization)).toEqual([
      'Bearer new-1',
      'Bearer new-1',
      'Bearer new-2',
      'Bearer new-3',
    ]);
  });

  test('puts the new token into a header of its own if it has a name', async () => {
    await using server = await openTokenServer();
    const exchange = tokenExchange({ tokenUrl: server.tokenUrl, header: 'X-Backend-Token' });

    expect(await exchange('one')).toEqual({ 'x-backend-token': 'Bearer new-1' });
  });

  test('that is refused refuses the caller', async () => {
    await using server = await openTokenServer(() => undefined);

    await expect(tokenExchange({ tokenUrl: server.tokenUrl })('one')).rejects.toMatchObject({
      kind: 'unauthorized',
    });
  });

  test('whose answer would end a header refuses the caller', async () => {
    await using server = await openTokenServer(() => ({ access_token: 'x\r\nhost: evil' }));

    await expect(tokenExchange({ tokenUrl: server.tokenUrl })('one')).rejects.toMatchObject({
      kind: 'unauthorized',
    });
  });

  test.each<[string, TokenExchangeOptions, RegExp]>([
    ['no address', { tokenUrl: '' }, /token_url/],
    ['plain http', { tokenUrl: 'http://id.example/token' }, /is not https/],
    [
      'a header that is none',
      { tokenUrl: 'https://id.example/token', header: 'x\r\ny' },
      /is not a header name/,
    ],
  ])('is refused with %s', (_what, options, message) => {
    expect(() => tokenExchange(options)).toThrow(message);
  });
});
