import { open } from 'node:fs/promises';
import { invalid } from '@toolhive/contract/failure';
import type { Owner, Program } from './installed-owner.ts';

/** ELF, and Mach-O for one or several processors. */
const compiled = /^(?:\x7fELF|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe)/;
/** What Go writes before the description of a program's modules (`runtime/debug.BuildInfo`). */
const mark = Buffer.from('3077af0c9274080241e1c107e6d618e6', 'hex');
const chunkBytes = 4 * 1024 * 1024;
const maxBytes = 256 * 1024 * 1024;
const descriptionBytes = 4_096;

/** Finds the module whose program `go install` has installed. */
export async function goProgram({ path, real, beginning }: Program): Promise<Owner | undefined> {
  if (!compiled.test(beginning)) return undefined;
  const [, program, version] =
    /^path\t([\w.~/-]+)\nmod\t[\w.~/-]+\t(\S+)\t?/.exec((await descriptionIn(real)) ?? '') ?? [];
  if (program === undefined || version === undefined) return undefined;
  if (!/^v\d+\.\d+\.\d+(?:-[\w.]+)*$/.test(version)) {
    throw invalid(`${path} was built from the source of ${program}, and has no version`, {
      hint: 'run the directory of its module instead: thv run DIRECTORY',
    });
  }
  return { image: `go://${program}@${version}`, text: `${program} ${version}` };
}

async function descriptionIn(path: string): Promise<string | undefined> {
  await using file = await open(path);
  const { size } = await file.stat();
  const buffer = Buffer.alloc(chunkBytes);
  // Consecutive parts overlap, because the description can begin at the end of one.
  for (let at = 0; at < Math.min(size, maxBytes); at += chunkBytes - descriptionBytes) {
    const { bytesRead } = await file.read(buffer, 0, chunkBytes, at);
    const found = markBefore(buffer.subarray(0, bytesRead));
    if (found !== undefined) return buffer.toString('latin1', found, found + descriptionBytes);
  }
  return undefined;
}

/** Finds a mark before a description, and returns the position behind the mark. Programs that read marks contain others. */
function markBefore(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) {
    const behind = at + mark.length;
    if (bytes.subarray(behind, behind + 5).toString('latin1') === 'path\t') return behind;
  }
  return undefined;
}
