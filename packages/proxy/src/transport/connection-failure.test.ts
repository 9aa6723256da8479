import { expect, test } from 'vitest';
import { connectionFailure } from './connection-failure.ts';

const failed = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each([
  ['CERT_HAS_EXPIRED', 'its certificate has expired; renew it, or correct the clock of this machine'],
  ['ENOTFOUND', 'its name cannot be resolved; check the URL and the network'],
  [
    'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
    'it accepts only HTTP/2, which ToolHive does not use for servers; use a URL that also accepts HTTP/1.1',
  ],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of its response are larger than 16 KiB'],
])('a failure with the code %s names the problem and the fix', (code, said) => {
  expect(connectionFailure(failed(code, 'raw'))).toBe(said);
});

test('an unknown authority is not explained with an option of Node.js', () => {
  const message = 'self-signed certificate; if the root CA is installed locally, try running Node.js with';

  expect(connectionFailure(failed('DEPTH_ZERO_SELF_SIGNED_CERT', message))).toMatch(
    /^the certificate authority is not trusted; if .*NODE_EXTRA_CA_CERTS=FILE$/,
  );
});

test.each([[failed('toString', 'raw')], [new Error('raw')], ['raw']])('other failures stay: %s', (error) => {
  expect(connectionFailure(error)).toBe('raw');
});
