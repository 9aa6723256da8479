import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';

/** What a server, a package, or a registry entry can contain: the clipboard, the screen, the title, and other text. */
const hostile = {
  'OSC 52, which writes to the clipboard': '\u001b]52;c;ZXZpbA==\u0007',
  'a cleared screen': '\u001b[2J\u001b[H',
  'a C1 control': '\u009b2J\u009d0;evil\u009c',
  'a changed direction': '\u202egnp.exe\u2066',
  'a carriage return': 'harmless\rERROR evil',
  'hidden text': 'a\u200b\u{e0041}b',
  'half a character': 'a\ud800b',
  'a delete and a backspace': 'a\u007f\b\b',
};

const controls = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}]/u;
const run = promisify(execFile);

/** Runs a script with the module `file`, and returns the output of the process. */
async function outputOf(file: string, script: string): Promise<{ stdout: string; stderr: string }> {
  const module = fileURLToPath(new URL(file, import.meta.url));
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined };
  return run(
    process.execPath,
    ['--input-type=module', '-e', `import * as tested from ${JSON.stringify(module)}; ${script}`],
    { env },
  );
}

describe('the log of thv serve', () => {
  test.each(Object.entries(hostile))('shows %s in no field', async (_what, text) => {
    proves('security.terminal');
    const fields = { workload: text, [text]: 1, found: { text, list: [text] } };

    const { stderr } = await outputOf(
      'log.ts',
      `tested.openLog({ debug: false }).warn({ ...${JSON.stringify(fields)}, err: new Error(${JSON.stringify(text)}) }, ${JSON.stringify(text)});`,
    );

    expect(stderr).toContain('WARN');
    expect(stderr).not.toMatch(controls);
  });

  test('has one line for each record, whatever its texts contain', async () => {
    const forged = 'harmless\n12:00:00 ERROR forged';

    const { stderr } = await outputOf(
      'log.ts',
      `tested.openLog({ debug: false }).warn({ text: ${JSON.stringify(forged)}, err: new Error(${JSON.stringify(forged)}) }, ${JSON.stringify(forged)});`,
    );

    expect(stderr).not.toMatch(/^\d\d:\d\d:\d\d ERROR/m);
    expect(stderr).toContain(String.raw`harmless\n12:00:00 ERROR forged`);
  });

  test('keeps letters of all languages', async () => {
    const { stderr } = await outputOf(
      'log.ts',
      `tested.openLog({ debug: false }).info({ name: 'Zoë 🐝' }, 'grüße 你好');`,
    );

    expect(stderr).toContain('grüße 你好 name=Zoë 🐝');
  });

  test.each(Object.entries(hostile))(
    'has %s in no file, and the same text in its JSON',
    async (_what, text) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-log-'));
      const path = join(folder.path, 'hive.log');

      // The descriptor of standard error is where a background daemon writes its log.
      const script = `tested.openLog({ debug: false, path: ${JSON.stringify(path)} }).warn({ text: ${JSON.stringify(text)} }, 'said');`;
      const module = fileURLToPath(new URL('log.ts', import.meta.url));
      const shell = `exec "$0" --input-type=module -e "$1" 2>"$2"`;
      await run('/bin/sh', [
        '-c',
        shell,
        process.execPath,
        `import * as tested from ${JSON.stringify(module)}; ${script}`,
        path,
      ]);
      const written = await readFile(path, 'utf8');

      expect(written).not.toMatch(controls);
      expect((JSON.parse(written) as { text: string }).text).toBe(text);
    },
  );
});

describe('the output of every command', () => {
  test.each(Object.entries(hostile))('shows %s in no line, table, step, or note', async (_what, text) => {
    const given = JSON.stringify(text);

    const { stdout, stderr } = await outputOf(
      'out.ts',
      `const out = tested.processOut('text');
       out.result({}, ${given}); out.record({}, (page) => page.line(page.paint('red', ${given})));
       out.record({}, (page) => page.table(['A'], [[${given}]]));
       out.progress(${given}); out.note(${given});`,
    );

    expect(stdout.length).toBeGreaterThan(5);
    expect(`${stdout}${stderr}`).not.toMatch(controls);
  });

  test.each(Object.entries(hostile))(
    'contains %s as JSON escapes in the JSON format',
    async (_what, text) => {
      const { stdout } = await outputOf(
        'out.ts',
        `tested.processOut('json').result({ text: ${JSON.stringify(text)} }, '');`,
      );

      expect(stdout).not.toMatch(controls);
      expect(JSON.parse(stdout)).toEqual({ text });
    },
  );

  test('keeps several lines and tabs, but a cell of a table cannot add a row', async () => {
    const { stdout } = await outputOf(
      'out.ts',
      `const out = tested.processOut('text');
       out.result({}, 'one\\n\\ttwo'); out.record({}, (page) => page.table(['A'], [['x\\ny']]));`,
    );

    expect(stdout).toBe('one\n\ttwo\nA\nx y\n');
  });

  test('keeps the colors of ToolHive', async () => {
    const { stdout } = await outputOf(
      'out.ts',
      `process.env.FORCE_COLOR = '1'; delete process.env.NO_COLOR;
       tested.processOut('text').result({}, (page) => page.line(page.paint('red', 'no\\u001b[5m')));`,
    );

    expect(stdout).toBe('\u001b[31mno\ufffd[5m\u001b[39m\n');
  });

  test('keeps a value that programs read verbatim', async () => {
    const { stdout } = await outputOf(
      'out.ts',
      `tested.processOut('text').result({}, (page) => page.verbatim('a\\u001bb\\r'));`,
    );

    expect(stdout).toBe('a\u001bb\r\n');
  });
});
