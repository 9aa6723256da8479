/** The requirements in a value of uv's `--with`. Commas also separate the version limits and the extras of one requirement. */
export function listedRequirements(text: string): string[] {
  const listed: string[] = [];
  let isInExtras = false;
  for (const part of text.split(',')) {
    if (part.trim() === '' && !isInExtras) continue;
    const isNext = !isInExtras && /^\s*[A-Za-z0-9]/.test(part);
    const before = isNext ? undefined : listed.pop();
    listed.push(before === undefined ? part : `${before},${part}`);
    const [open, close] = [part.lastIndexOf('['), part.lastIndexOf(']')];
    if (open !== close) isInExtras = open > close;
  }
  return listed.map((requirement) => requirement.trim()).filter((requirement) => requirement !== '');
}
