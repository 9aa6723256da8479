import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { selfSigned } from '../testing/self-signed.ts';
import { buildAuthorities, proxyArguments } from './corporate-builds.ts';

describe('a build behind a corporate proxy', () => {
  test.each([
    [{ HTTPS_PROXY: 'http://proxy.corp:3128' }, { HTTPS_PROXY: 'http://proxy.corp:3128' }],
    [{ https_proxy: 'proxy.corp:3128' }, { https_proxy: 'proxy.corp:3128' }],
    [
      {
        HTTP_PROXY: 'http://proxy.corp',
        NO_PROXY: 'localhost,127.0.0.1',
        no_proxy: '.corp',
        PATH: '/bin',
      },
      { HTTP_PROXY: 'http://proxy.corp', NO_PROXY: 'localhost,127.0.0.1', no_proxy: '.corp' },
    ],
    [{ ALL_PROXY: 'socks5://10.0.0.1:1080', HTTP_PROXY: '' }, { ALL_PROXY: 'socks5://10.0.0.1:1080' }],
    [{}, {}],
  ])('gets the variables of %j', (env, args) => {
    expect(proxyArguments(env)).toEqual({ args, notes: [] });
  });

  test.each(['127.0.0.1:3128', 'http://localhost:3128', 'http://u:p@127.0.0.2:3128', 'socks5://[::1]:1080'])(
    'does not get %s, which no container can reach',
    (proxy) => {
      const { args, notes } = proxyArguments({ HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: 'a' });

      expect(args).toEqual({ NO_PROXY: 'a' });
      expect(notes).toHaveLength(1);
      expect(notes[0]).toMatch(/^building without the proxy \S+, because no container/);
      expect(notes[0]).not.toContain('u:p');
    },
  );
});

test.each(['http://ada:secret@proxy.corp:3128', 'ada:secret@proxy.corp:3128', 'http://ada@proxy.corp:3128'])(
  'a build, in which packages run their code, does not get the password of %s',
  (proxy) => {
    const { args, notes } = proxyArguments({ HTTPS_PROXY: proxy });

    expect(args).toEqual({ HTTPS_PROXY: 'http://proxy.corp:3128' });
    expect(notes).toEqual([
      'building without the password of the proxy http://proxy.corp:3128, which packages could read',
    ]);
  },
);

describe('a build trusts', () => {
  // Authorities that Node.js does not know.
  const [first, second] = ['one.test', 'two.test'].map((name) => pemOf(selfSigned(name).certificate)) as [
    string,
    string,
  ];

  test('what the administrator has added to the system, and what variables name, once each', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-anchors-'));
    const anchors = [join(folder.path, 'anchors'), join(folder.path, 'none')];
    await mkdir(join(folder.path, 'anchors/corp'), { recursive: true });
    await writeFile(join(folder.path, 'anchors/corp/one.crt'), first);
    await writeFile(join(folder.path, 'anchors/notes.txt'), second);
    const extra = join(folder.path, 'extra.pem');
    await writeFile(extra, `# ours\n${second}\n${first}\n${rootCertificates[0]}\n`);

    const env = { NODE_EXTRA_CA_CERTS: extra, SSL_CERT_FILE: '/not/there' };
    const all = await buildAuthorities(env, undefined, { anchors, bundles: [] });

    expect(all).toBe(`${second}${first}`);
  });

  test('nothing else of a system, whose list may have authorities that are not trusted any more', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-anchors-'));
    const bundle = join(folder.path, 'ca-certificates.crt');
    await writeFile(bundle, first);

    const env = { SSL_CERT_FILE: bundle, NODE_EXTRA_CA_CERTS: bundle };

    expect(await buildAuthorities(env, undefined, { anchors: [], bundles: [bundle] })).toBeUndefined();
    expect(await buildAuthorities(env, 'GIVEN\n', { anchors: [], bundles: [bundle] })).toBe('GIVEN\n');
  });

  test('what is given as it is, and no broken file', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-anchors-'));
    const text = '-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n';
    await writeFile(join(folder.path, 'broken.pem'), text);
    await writeFile(join(folder.path, 'good.cer'), second);

    const all = await buildAuthorities({}, 'GIVEN\n', { anchors: [folder.path], bundles: [] });

    expect(all).toBe(`GIVEN\n${second}`);
  });
});

function pemOf(certificate: string): string {
  return `${certificate.trim()}\n`;
}
