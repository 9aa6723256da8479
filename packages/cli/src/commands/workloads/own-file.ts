import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { invalid, messageOf } from '@toolhive/contract/failure';

/** Writes a file atomically, by default for its owner only, and creates missing directories. */
export async function writeOwnFile(path: string, text: string, mode = 0o600): Promise<string> {
  const whole = resolve(path);
  const beside = `${whole}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const there = await lstat(whole).catch(() => undefined); // nothing is
    if (there?.isFile() === false) {
      // A pipe, a device or a link: taking its place would be a surprise.
      await writeFile(whole, text, { mode });
      return whole;
    }
    await mkdir(dirname(whole), { recursive: true, mode: 0o750 });
    {
      await using file = await open(beside, 'wx', mode);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(beside, whole);
  } catch (cause) {
    await rm(beside, { force: true }).catch(() => {}); // the file may not exist
    throw invalid(`${path} cannot be written: ${messageOf(cause).replaceAll(beside, whole)}`, { cause });
  }
  return whole;
}
