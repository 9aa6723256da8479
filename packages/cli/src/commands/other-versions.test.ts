import { describe, expect, test } from 'vitest';
import { ThvError } from '@toolhive/contract/failure';
import { flagsOf, namesOf } from '../command.ts';
import { withNearestName } from '../did-you-mean.ts';
import { parentOf, understand } from '../program.ts';
import { program } from './commands.ts';
import { otherCommands, otherFlags } from './other-versions.ts';
import { programFor } from './topics.ts';

/** Command lines of scripts, pages, and workflows for other versions of the original. */
describe('a command line of another version is refused with the way to do it here', () => {
  test.each([
    ['vmcp serve --group soc', 'thv has no command "vmcp"', 'thv group edit GROUP --endpoint combined'],
    ['skill install ghcr.io/org/skill:v1.0 --scope project', 'thv has no command "skill"', 'MCP client'],
    ['llm proxy start', 'thv has no command "llm"', 'MCP servers only'],
    ['tui', 'thv has no command "tui"', 'thv ui'],
    ['config secrets-provider encrypted', 'thv config has no command', 'thv secret provider NAME'],
    ['config auto-discovery true', 'thv config has no command', 'thv client setup'],
    ['config register-client cursor', 'thv config has no command', 'thv client register CLIENT'],
    ['config set-registry-url https://example.com/r.json', 'thv config has no command', 'set-registry URL'],
    ['config usage-metrics disable', 'thv config has no command', 'no usage metrics'],
    ['registry convert --in r.json --in-place', 'thv registry has no command', 'both registry formats'],
    ['run --transport sse --name a --port 8080 image:1 -- x', 'thv run has no flag --port', '--proxy-port'],
    ['run fetch --detach', 'thv run has no flag --detach', 'omit it'],
    ['run uvx://a --build-with mcp<2', 'thv run has no flag --build-with', '--with PACKAGE'],
    ['run --allow-docker-gateway --name a image:1', 'no flag --allow-docker-gateway', '--allow-local-port'],
    ['run image:1 --stateless', 'no flag --stateless', 'omit it'],
    ['rm -f fetch', 'thv rm has no flag -f', 'omit it'],
    ['upgrade apply my-server --yes', 'unexpected argument "my-server"', 'thv upgrade NAME --yes'],
    ['build --tag a:1 npx://b -- start', 'unexpected argument "start"', 'thv run IMAGE -- ARGUMENTS'],
    ['secret set GITHUB_TOKEN ghp_1', 'too many arguments', 'omit the value'],
    ['--version', 'unknown flag --version', 'thv version'],
  ])('thv %s', async (line, message, hint) => {
    const words = line.split(' ');

    const refused = understand(await programFor(words), words);

    await expect(refused).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(message) as string,
      hint: expect.stringContaining(hint) as string,
    });
  });

  test('also if its last word could be a name here', async () => {
    const words = ['upgrade', 'check'];
    const call = await understand(await programFor(words), words);
    const unknown = new ThvError('not-found', 'workload check not found');

    const thrown = 'help' in call ? undefined : await withNearestName(unknown, call);

    expect(thrown).toMatchObject({ message: 'workload check not found', hint: 'run thv outdated' });
  });
});

const paths = new Set(
  program.commands.flatMap((command) =>
    namesOf(command).map((name) => `${parentOf(command.path)} ${name}`.trim()),
  ),
);

test('the commands do not exist here', () => {
  const groups = program.groups.map(({ path }) => path);
  const known = Object.keys(otherCommands).filter((path) => paths.has(path) || groups.includes(path));

  expect(known).toEqual([]);
});

test('the flags do not exist here, but their commands do', () => {
  const wrong = Object.keys(otherFlags).filter((words) => {
    const space = words.lastIndexOf(' ');
    const [path, typed] = [words.slice(0, space), words.slice(space + 1)] as const;
    const command = program.commands.find((candidate) => candidate.path === path);
    const known =
      command && flagsOf(command).flatMap(({ name, shorthand }) => [`--${name}`, `-${shorthand}`]);
    return words !== '--version' && known?.includes(typed) !== false;
  });

  expect(wrong).toEqual([]);
});

test('the hints name commands and flags that exist', () => {
  const hints = [...Object.values(otherCommands), ...Object.values(otherFlags)];
  const lines = hints.flatMap((hint) =>
    [...hint.matchAll(/thv ([a-z][a-z -]*[a-z])/g)].map(([, words = '']) => words),
  );
  const unknown = lines.filter((line) => {
    const words = line.split(' ');
    return !words.some((_word, index) => paths.has(words.slice(0, index + 1).join(' ')));
  });
  const flags = new Set(
    program.commands.flatMap((command) => flagsOf(command).map(({ name }) => `--${name}`)),
  );
  const typed = hints.flatMap((hint) => hint.match(/--[a-z][a-z-]+/g) ?? []);

  expect(unknown).toEqual([]);
  expect(typed.filter((flag) => !flags.has(flag))).toEqual([]);
});
