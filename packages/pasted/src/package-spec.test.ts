import { describe, expect, test } from 'vitest';
import { readCommandLine } from './launchers.ts';

const read = (words: readonly string[]) =>
  readCommandLine(words, { env: {}, directory: '/', readFile: async () => '' });

const commit = 'c0ffee'.padEnd(40, '0');

describe('the package of a pasted command', () => {
  test.each<[words: string[], image: string, args: string[]]>([
    // Programs of packages
    [
      ['uvx', '--from', 'huggingface_hub[mcp]', 'tiny-agents'],
      'uvx://huggingface_hub[mcp]#program=tiny-agents',
      [],
    ],
    [['uvx', '--from', 'one', 'two', '--flag'], 'uvx://one#program=two', ['--flag']],
    [['uvx', '--from=My_Server==1.0', 'my-server'], 'uvx://My_Server@1.0', []],
    [['uvx', '--from', 'one@2.0', 'two.exe'], 'uvx://one@2.0#program=two', []],
    [['uv', 'tool', 'run', '--from', 'one', 'two'], 'uvx://one#program=two', []],
    [['pipx', 'run', '--spec', 'one==1', 'two'], 'uvx://one@1#program=two', []],
    [['npx', '-y', '-p', '@scope/tools@1', 'server', 'x'], 'npx://@scope/tools@1#program=server', ['x']],
    [['npx', '--package=@scope/server', 'server'], 'npx://@scope/server', []],
    [['npm', 'exec', '--package=tools', '--', 'server'], 'npx://tools#program=server', []],
    // Extras and version limits
    [['uvx', 'mcp[cli,rich]'], 'uvx://mcp[cli,rich]', []],
    [['uvx', 'mcp[cli]==1.2'], 'uvx://mcp[cli]@1.2', []],
    [['uvx', 'server>=1'], 'uvx://server@>=1', []],
    [['uvx', 'server >= 1, < 2'], 'uvx://server@>=1,<2', []],
    [['uvx', '--from', 'server~=1.2', 'server'], 'uvx://server@~=1.2', []],
    [['uvx', 'server==1.*'], 'uvx://server@==1.*', []],
    [['uvx', 'server!=1.3'], 'uvx://server@!=1.3', []],
    [['npx', 'server@>=1 <2'], 'npx://server@>=1 <2', []],
    // Git repositories
    [
      ['uvx', '--from', 'git+https://git.example.com/o/server', 'server'],
      'uvx://git+https://git.example.com/o/server#program=server',
      [],
    ],
    [
      ['uvx', '--from', 'git+https://git.example.com/o/r.git@main#subdirectory=mcp-server', 'minima', '-v'],
      'uvx://git+https://git.example.com/o/r.git#ref=main&subdirectory=mcp-server&program=minima',
      ['-v'],
    ],
    [
      ['uvx', `git+https://git.example.com/o/r@${commit}`],
      `uvx://git+https://git.example.com/o/r@${commit}`,
      [],
    ],
    [
      ['uvx', '--from', 'server[cli] @ git+https://git.example.com/o/r@v1', 'server'],
      'uvx://git+https://git.example.com/o/r[cli]#ref=v1&program=server',
      [],
    ],
    [['npx', '-y', 'github:o/r', 'x'], 'npx://git+https://github.com/o/r', ['x']],
    [['npx', 'o/r#v1'], 'npx://git+https://github.com/o/r#ref=v1', []],
    [['bunx', 'gitlab:o/r'], 'npx://git+https://gitlab.com/o/r', []],
    [
      ['npx', 'git+https://git.example.com/o/r.git#semver:^1'],
      'npx://git+https://git.example.com/o/r.git#ref=semver%3A%5E1',
      [],
    ],
    [['npx', '--package=github:o/r', 'server'], 'npx://git+https://github.com/o/r#program=server', []],
    [['npx', '-y', 'https://github.com/o/r'], 'npx://git+https://github.com/o/r', []],
    [['pnpm', 'dlx', 'git+ssh://git@github.com/o/r.git'], 'npx://git+https://github.com/o/r.git', []],
  ])('%j', async (words, image, args) => {
    const { request, notes } = await read(words);

    expect(request).toMatchObject({ image, cmd_arguments: args });
    expect(notes).toEqual([]);
  });

  test('is refused with a credential that the error does not repeat', async () => {
    const reading = read(['uvx', '--from', 'git+https://ada:hunter2@git.example.com/o/r', 'r']);

    await expect(reading).rejects.toThrow('contains a user name or a password');
    await expect(reading).rejects.not.toThrow('hunter2');
  });

  test.each([
    [
      ['uvx', '--from', 'git+https://git.example.com/o/r', 'src/server.py'],
      '"src/server.py" is not the name',
    ],
    [['npx', '-p', 'tools', './server.js'], '"./server.js" is not the name of a program of tools'],
  ])('is refused if the program is a path: %j', async (words, message) => {
    await expect(read(words)).rejects.toThrow(message);
  });
});
