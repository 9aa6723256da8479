import { identity, result, unknown } from './answer.ts';

const resultText = JSON.stringify(result);
const identityText = JSON.stringify(identity);
const unknownText = `"error":${JSON.stringify(unknown)}`;
/** Answers the lines of standard input: whole chunks in, one chunk of answers out, no JSON parsed. */
export function serveEcho(): void {
  let rest = '';

  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    let answers = '';
    for (const line of lines) {
      // The bridge's own IDs are numbers.
      const id = /"id":(\d+)/.exec(line)?.[1];
      if (id === undefined) continue;
      answers += `{"jsonrpc":"2.0","id":${id},${outcomeOf(line)}}\n`;
    }
    if (answers !== '') process.stdout.write(answers);
  });
}

function outcomeOf(line: string): string {
  if (line.includes('"method":"tools/call"')) return `"result":${resultText}`;
  return line.includes('"method":"initialize"') ? `"result":${identityText}` : unknownText;
}
