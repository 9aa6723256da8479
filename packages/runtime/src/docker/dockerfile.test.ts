import { describe, expect, test } from 'vitest';
import { parseSource, type PackageSource } from '../source.ts';
import { baseImagesOf, dockerfileOf } from './dockerfile.ts';
import { packageImage } from './packages.ts';

describe('the Dockerfile', () => {
  test('of an npm package', () => {
    expect(dockerfile('npx://@example/server@1.2.0')).toMatchInlineSnapshot(`
      "FROM node:22-alpine AS build
      RUN ["apk","add","--no-cache","ca-certificates"]
      ENV NODE_ENV=production NPM_CONFIG_LOGLEVEL=error NPM_CONFIG_FUND=false NPM_CONFIG_AUDIT=false
      ENV NPM_CONFIG_UPDATE_NOTIFIER=false NPM_CONFIG_PROGRESS=false
      RUN ["sh","-ec","mkdir -p /app; chown 65534:65534 /app"]
      USER 65534:65534
      ENV HOME=/tmp
      WORKDIR /app
      RUN ["npm","install","--save-exact","--allow-git=none","--allow-remote=none","--allow-file=none","--allow-directory=none","@example/server@1.2.0"]
      RUN ["node","-e","const { packages } = JSON.parse(require('fs').readFileSync('/app/node_modules/.package-lock.json')); const elsewhere = /^(git|https?|file|github|gitlab|bitbucket|gist|ssh)[:+]|^[^@\\\\s:]+\\\\/|^[.~\\\\/]/; const source = (spec) => spec.replace(/^github:|^(?=[^:@\\\\s]+\\\\/[^:@\\\\s]+$)/, 'github.com/').replace(/^(git\\\\+)?[a-z]+:\\\\/\\\\/([^@\\\\/]*@)?/, '').replace(/(\\\\.git)?(#.*)?$/, ''); for (const { dependencies, optionalDependencies } of Object.values(packages)) for (const [name, spec] of Object.entries({ ...dependencies, ...optionalDependencies })) if (elsewhere.test(spec) && !process.argv.slice(1).some((one) => (source(spec) + '/').startsWith(one + '/'))) throw new Error(name + ' comes from ' + spec + ' and not from a package registry. If you trust the source, run thv config set-package-sources ' + source(spec));"]
      RUN ["node","-e","const { readFileSync, symlinkSync, writeFileSync } = require('fs'); const name = process.argv[1]; const { bin = {}, version } = JSON.parse(readFileSync('/app/node_modules/' + name + '/package.json')); const own = name.split('/').pop(); const commands = typeof bin === 'string' ? [own] : Object.keys(bin); const asked = process.argv[2]; const command = !asked && commands.length === 1 ? commands[0] : commands.find((known) => known === (asked ?? own)); if (!command) throw new Error(name + ' has no command ' + (asked ?? 'to run') + ': ' + commands.join(', ')); symlinkSync('/app/node_modules/.bin/' + command, '/app/server'); writeFileSync('/app/version', version);","@example/server"]

      FROM node:22-alpine
      COPY --from=build /app /app
      ENV NODE_ENV=production
      ENV PATH=/app/node_modules/.bin:/app/package/node_modules/.bin:\${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
      RUN ["sh","-ec","mkdir -p /home/server; chown 65534:65534 /home/server"]
      ENV HOME=/home/server
      WORKDIR /home/server
      USER 65534:65534
      ENTRYPOINT ["/app/server"]
      "
    `);
  });

  test('trusts certificates before it fetches anything', () => {
    const source = parseSource('npx://@example/server@1.2.0') as PackageSource;
    const lines = dockerfileOf(source, baseImagesOf(source, {}), { isTrusting: true }).split('\n');

    expect(lines.slice(0, 5).join('\n')).toMatchInlineSnapshot(`
      "FROM node:22-alpine AS build
      COPY .toolhive.ca.crt /usr/local/share/ca-certificates/toolhive.crt
      RUN ["sh","-ec","mkdir -p /etc/ssl/certs; cat /usr/local/share/ca-certificates/toolhive.crt >> /etc/ssl/certs/ca-certificates.crt"]
      ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt GIT_SSL_CAINFO=/etc/ssl/certs/ca-certificates.crt
      ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt"
    `);
    expect(lines.filter((line) => !dockerfile('npx://@example/server@1.2.0').includes(line))).toHaveLength(4);
  });

  test('of a Python package', () => {
    expect(dockerfile('uvx://example-server@1.2.0')).toMatchInlineSnapshot(`
      "FROM python:3.13-slim AS build
      RUN ["apt-get","update"]
      RUN ["apt-get","install","--yes","--no-install-recommends","ca-certificates"]
      RUN ["pip","install","--no-cache-dir","--disable-pip-version-check","uv"]
      ENV UV_TOOL_DIR=/opt/uv-tools UV_TOOL_BIN_DIR=/app/bin UV_PYTHON_DOWNLOADS=never UV_NO_CACHE=1
      RUN ["sh","-ec","mkdir -p /app /opt/uv-tools; chown 65534:65534 /app /opt/uv-tools"]
      USER 65534:65534
      ENV HOME=/tmp
      RUN ["uv","tool","install","example-server==1.2.0"]
      RUN ["sh","-ec","cd /app/bin; if [ -e \\"$1\\" ]; then script=$1; else [ -z \\"$2\\" ]; set -- *; [ $# -eq 1 ]; script=$1; fi; ln -s \\"/app/bin/$script\\" /app/server; uv tool list | sed -n '1s/^[^ ]* v//p' > /app/version","sh","example-server",""]

      FROM python:3.13-slim
      COPY --from=build /app /app
      COPY --from=build /opt/uv-tools /opt/uv-tools
      ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
      RUN ["sh","-ec","for folder in /opt/uv-tools/*/bin; do ln -sfn \\"$folder\\" /app/programs; done"]
      ENV PATH=/app/programs:\${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
      RUN ["sh","-ec","mkdir -p /home/server; chown 65534:65534 /home/server"]
      ENV HOME=/home/server
      WORKDIR /home/server
      USER 65534:65534
      ENTRYPOINT ["/app/server"]
      "
    `);
  });

  test('of a Go module', () => {
    expect(dockerfile('go://example.org/cmd/server@v1.2.0')).toMatchInlineSnapshot(`
      "FROM golang:1.25-alpine AS build
      RUN ["apk","add","--no-cache","ca-certificates"]
      ENV CGO_ENABLED=0 GO111MODULE=on GOBIN=/app/bin GOPATH=/tmp/go
      ENV GOVCS=*:off
      RUN ["sh","-ec","mkdir -p /app; chown 65534:65534 /app"]
      USER 65534:65534
      ENV HOME=/tmp
      RUN ["go","install","example.org/cmd/server@v1.2.0"]
      RUN ["sh","-ec","mv /app/bin/* /app/server; go version -m /app/server | sed -n 's/^\\\\tmod\\\\t[^\\\\t]*\\\\t\\\\([^\\\\t]*\\\\).*/\\\\1/p' > /app/version"]

      FROM alpine:3.22
      COPY --from=build /app /app
      COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
      RUN ["sh","-ec","mkdir -p /home/server; chown 65534:65534 /home/server"]
      ENV HOME=/home/server
      WORKDIR /home/server
      USER 65534:65534
      ENTRYPOINT ["/app/server"]
      "
    `);
  });

  test('of a Go module in a folder copies the folder', () => {
    expect(dockerfile('go://./server')).toContain('WORKDIR /src\nCOPY . .\nRUN ["go","build"');
  });

  test.each([
    ['npx://example', '"--allow-directory=none","example"]'],
    ['npx://example@>=1 <2', '"--allow-directory=none","example@>=1 <2"]'],
    ['uvx://example', '"uv","tool","install","example"]'],
    ['uvx://example@latest', '"uv","tool","install","example"]'],
    ['uvx://example@>=1.2', '"uv","tool","install","example>=1.2"]'],
    ['go://example.org/server', '"go","install","example.org/server@latest"]'],
  ])('asks for the version that %s means', (url, command) => {
    expect(dockerfile(url)).toContain(`${command}\n`);
  });

  test.each([
    { name: 'example\nRUN evil' },
    { name: 'example"]\nRUN ["evil' },
    { name: '--registry=http://evil.example' },
    { name: '$(evil)' },
    { name: 'example', version: '1\nUSER root' },
    { name: 'example', version: '1 --unsafe-perm"' },
  ])('is not written for %o', (parts) => {
    const source: PackageSource = { kind: 'package', scheme: 'npx', ...parts };

    expect(() => dockerfileOf(source, baseImagesOf(source, {}))).toThrow(/is not a package/);
  });

  test('is not built on what is no image', () => {
    const base = { build: 'node:22\nRUN evil', run: 'node:22' };

    expect(() => dockerfileOf({ kind: 'package', scheme: 'npx', name: 'example' }, base)).toThrow(
      /is not an image reference/,
    );
  });
});

describe('the image of a package', () => {
  test('is named after it', () => {
    expect(packageImage(source('npx://@example/server@1.2.0'))).toMatch(
      /^toolhivelocal\/npx-example-server:1\.2\.0-[0-9a-f]{12}$/,
    );
  });

  test('differs for packages that are spelled alike as image names', () => {
    const images = ['npx://@a/b@1.0.0', 'npx://a-b@1.0.0', 'npx://a.b@1.0.0'].map((url) =>
      packageImage(source(url)),
    );

    expect(new Set(images).size).toBe(3);
  });

  test.each(['npx://~weird~@^1', 'npx://x--y', 'go://../server', 'go://.', 'uvx://A_b.C@>=1'])(
    'is a reference that engines accept: %s',
    (url) => {
      expect(parseSource(packageImage(source(url)))).toMatchObject({ kind: 'image' });
    },
  );
});

test.each([
  ['npx:///home/ada/server', '["npm","install",', '"/app/package"]'],
  ["npx:///home/ada/it's.js", '"/app/package/it\'s.js"]', 'WORKDIR /app/package'],
  [
    'npx:///home/ada/server-1.0.0.tgz',
    '"--allow-file=root","/app/package/server-1.0.0.tgz"]',
    'COPY --chown',
  ],
  ['uvx:///home/ada/server', '["uv","tool","install","/app/package"]', 'uv tool list'],
  ['uvx:///home/ada/server#program=serve', '"sh","serve","exact"]', '["uv","tool","install","/app/package"]'],
  ['uvx:///home/ada/server.py', '"sh","/app/package/server.py"]', '["uv","venv"'],
  ['uvx:///home/ada/s-1-py3-none-any.whl', '"install","/app/package/s-1-py3-none-any.whl"]', 'COPY --chown'],
])('builds %s from the files in the context, whatever its directory', (url, one, other) => {
  const text = dockerfile(url);

  expect(text).toContain(one);
  expect(text).toContain(other);
  expect(text).not.toContain('/home/ada');
});

function dockerfile(url: string): string {
  const given = source(url);
  return dockerfileOf(given, baseImagesOf(given, {}));
}

function source(url: string): PackageSource {
  const parsed = parseSource(url);
  if (parsed.kind !== 'package') throw new Error(`${url} is no package`);
  return parsed;
}
