import { describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';
import { readCommandLine } from './launchers.ts';
import { previewOf } from './testing/read-document.ts';

const from = { env: {}, directory: '/', readFile: () => Promise.reject(new Error('no file is read')) };
const appData = String.raw`C:\Users\me\AppData\Roaming\npm`;

test.each([
  ['java -Dx=true -jar /opt/server.jar', 'Java'],
  ['Java -jar /opt/server.jar', 'Java'],
  ['jbang jdbc@quarkiverse/quarkus-mcp-servers', 'Java'],
  ['./gradlew run', 'Java'],
  ['dnx NuGet.Mcp.Server --yes', '.NET'],
  ['dotnet tool run server', '.NET'],
  ['cargo run --release', 'Rust'],
  ['/home/me/.cargo/bin/rust-mcp-filesystem --allow-write', 'Rust'],
  ['php artisan mcp:start demo', 'PHP'],
  ['bundle exec ruby server.rb', 'Ruby'],
  ['nix run github:acme/server -- --flag', 'Nix'],
])('a command in a language without packages here names the forms that work: %s', async (text, language) => {
  const { servers } = await previewImport(text);

  expect(servers).toMatchObject([
    {
      problem: expect.stringContaining(`ToolHive does not install ${language} programs`),
      hint: 'use a container image of the server, or the URL of a remote server',
    },
  ]);
});

describe('a program that is installed on Windows', () => {
  test.each([
    [String.raw`${appData}\mcp-server-x.cmd`, 'if its package is mcp-server-x, use npx://mcp-server-x'],
    [String.raw`%APPDATA%\npm\mcp-server-x.cmd`, 'if its package is mcp-server-x, use npx://mcp-server-x'],
    [
      String.raw`C:\Python312\Scripts\mcp-server-git.exe`,
      'if its package is mcp-server-git, use uvx://mcp-server-git',
    ],
    [String.raw`C:\tools\server.exe`, 'use its package, as with npx or uvx'],
  ])('is not taken for the package with its name: %s', async (command, hint) => {
    const [server] = await previewOf({ mcpServers: { x: { command, args: ['not-a-real-token'] } } });

    expect(server?.request).toBeUndefined();
    expect(server?.problem).toContain('is a Windows program');
    expect(server?.hint).toContain(hint);
    expect(`${server?.problem} ${server?.hint}`).not.toContain('not-a-real-token');
  });
});

describe('a script of a package on another machine', () => {
  test.each([
    [String.raw`${appData}\node_modules\@scope\one\dist\index.js`, 'npx://@scope/one'],
    [String.raw`%APPDATA%\npm\node_modules\one\index.mjs`, 'npx://one'],
    ['/Users/me/.nvm/versions/node/v22/lib/node_modules/one/dist/index.js', 'npx://one'],
  ])('runs as its package: %s', async (script, image) => {
    const { request } = await readCommandLine(['node', script, '--flag'], from);

    expect(request).toMatchObject({ image, cmd_arguments: ['--flag'] });
  });

  test('is npx itself, as people start it on Windows', async () => {
    const words = [String.raw`C:\nodejs\node.exe`, String.raw`C:\nodejs\node_modules\npm\bin\npx-cli.js`];

    const { request } = await readCommandLine([...words, '-y', 'one'], from);

    expect(request).toMatchObject({ image: 'npx://one', cmd_arguments: [] });
  });

  test.each([
    ['node --no-warnings /Users/me/lib/node_modules/one/dist/index.js a', 'npx://one'],
    ['node -y /Users/me/lib/node_modules/one/dist/index.js a', 'npx://one'],
    ['bun run /Users/me/lib/node_modules/one/dist/index.js a', 'npx://one'],
    ['node /usr/lib/node_modules/npm/bin/npm-cli.js exec -y one -- a', 'npx://one'],
  ])('runs without the flags in front: %s', async (text, image) => {
    const { request } = await readCommandLine(text.split(' '), from);

    expect(request).toMatchObject({ image, cmd_arguments: ['a'] });
  });

  test('is a bridge', async () => {
    const script = String.raw`${appData}\node_modules\mcp-remote\dist\proxy.js`;

    const { request } = await readCommandLine(['node', script, 'https://example.com/mcp'], from);

    expect(request.url).toBe('https://example.com/mcp');
  });

  test.each([
    String.raw`C:\work\server\dist\index.js`,
    String.raw`${appData}\node_modules\..\index.js`,
    String.raw`${appData}\node_modules\one`,
    '/work/node_modules/index.js',
  ])('is not guessed: %s', async (script) => {
    await expect(readCommandLine(['node', script], from)).rejects.toMatchObject({
      message: expect.not.stringContaining('npx'),
    });
  });
});
