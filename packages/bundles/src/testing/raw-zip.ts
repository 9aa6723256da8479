import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of an archive that no tool would write. Every field can differ from the truth. */
export interface RawEntry {
  name: string | Buffer;
  content?: string | Buffer;
  /** The Unix mode with the file type. */
  mode?: number;
  method?: number;
  flags?: number;
  /** What the local header says instead. */
  local?: { name?: string; method?: number; size?: number };
  /** The announced size of the content. */
  size?: number;
  sum?: number;
  /** Takes the place of an earlier entry's data, by its number. */
  dataOf?: number;
}

export interface RawZip {
  before?: Buffer;
  after?: Buffer;
  comment?: Buffer;
}

const DEFLATED = 8;

/** The bytes of a zip file with these entries, right or wrong. */
export function rawZip(entries: readonly RawEntry[], { before, after, comment }: RawZip = {}): Buffer {
  const parts: Buffer[] = [before ?? Buffer.alloc(0)];
  let at = parts[0]?.length ?? 0;
  const offsets: number[] = [];
  const directory = entries.map((entry) => {
    const content = Buffer.from(entry.content ?? '');
    const method = entry.method ?? DEFLATED;
    const data = method === 0 ? content : deflateRawSync(content);
    const name = Buffer.from(entry.name);
    const fields = {
      flags: entry.flags ?? (name.some((byte) => byte > 127) ? 0x800 : 0),
      method,
      sum: entry.sum ?? crc32(content),
      packed: data.length,
      size: entry.size ?? content.length,
    };
    const ownName = Buffer.from(entry.local?.name ?? name);
    const own = { ...fields, method: entry.local?.method ?? method, size: entry.local?.size ?? fields.size };
    const offset = entry.dataOf === undefined ? at : (offsets[entry.dataOf] ?? 0);
    offsets.push(offset);
    if (entry.dataOf === undefined) {
      const header = headerOf(0x04034b50, 30, own, ownName);
      header.writeUInt16LE(ownName.length, 26);
      parts.push(header, ownName, data);
      at += header.length + ownName.length + data.length;
    }
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE((3 << 8) | 20, 4); // made by Unix
    writeFields(central, 6, fields);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 38);
    central.writeUInt32LE(offset, 42);
    return Buffer.concat([central, name]);
  });
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  end.writeUInt16LE(comment?.length ?? 0, 20);
  return Buffer.concat([...parts, central, end, comment ?? Buffer.alloc(0), after ?? Buffer.alloc(0)]);
}

interface Fields {
  flags: number;
  method: number;
  sum: number;
  packed: number;
  size: number;
}

function headerOf(signature: number, length: number, fields: Fields, name: Buffer): Buffer {
  const header = Buffer.alloc(length);
  header.writeUInt32LE(signature, 0);
  writeFields(header, 4, fields);
  header.writeUInt16LE(name.length, 26);
  return header;
}

/** The part that both kinds of headers have. */
function writeFields(header: Buffer, at: number, { flags, method, sum, packed, size }: Fields): void {
  header.writeUInt16LE(20, at);
  header.writeUInt16LE(flags, at + 2);
  header.writeUInt16LE(method, at + 4);
  header.writeUInt32LE(sum, at + 10);
  header.writeUInt32LE(packed, at + 14);
  header.writeUInt32LE(size, at + 18);
}
