import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { crc32, deflateSync } from 'node:zlib';

/** How two pictures differ. */
export interface Difference {
  /** Of all points, how many: 0 to 1. */
  share: number;
  /** Makes a picture of it. */
  picture: () => Buffer;
}

/**
 * Compares pictures of one size. Points at the edge of letters and lines do not count, nor do shades that hardly anybody
 * tells apart: browsers of different versions draw those differently.
 */
export function compare(kept: Buffer, now: Buffer): Difference {
  const [a, b] = [PNG.sync.read(kept), PNG.sync.read(now)];
  const { width, height } = b;
  if (a.width !== width || a.height !== height) return { share: 1, picture: () => now };
  const shown = new PNG({ width, height });
  const points = pixelmatch(a.data, b.data, shown.data, width, height, { threshold: 0.2 });
  return { share: points / (width * height), picture: () => PNG.sync.write(shown) };
}

const mostColours = 256;

/** The same picture in at most 256 colours, which is a third of the bytes: nobody tells them apart on pages. */
export function reduce(picture: Buffer): Buffer {
  const { width, height, data } = PNG.sync.read(picture);
  const places = new Map<number, number>(); // of colours in the palette
  const palette = paletteOf(data);
  const rows = Buffer.alloc(height * (width + 1)); // before each row stands how it is filtered: not at all
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      const colour = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!; // within the picture
      let place = places.get(colour);
      if (place === undefined) {
        place = nearest(palette, colour);
        places.set(colour, place);
      }
      rows[y * (width + 1) + 1 + x] = place;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits a point, which are places in a palette
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(parts))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The colours that most points have. Of those that hardly differ there is one. */
function paletteOf(data: Buffer): number[] {
  const counts = new Map<number, { colour: number; points: number }>();
  const each = new Map<number, number>();
  for (let at = 0; at < data.length; at += 4) {
    const colour = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!; // four bytes a point
    each.set(colour, (each.get(colour) ?? 0) + 1);
  }
  for (const [colour, points] of [...each].toSorted((a, b) => b[1] - a[1])) {
    const rough = colour & 0xf8f8f8;
    const known = counts.get(rough);
    if (known === undefined) counts.set(rough, { colour, points });
    else known.points += points;
  }
  return [...counts.values()]
    .toSorted((a, b) => b.points - a.points)
    .slice(0, mostColours)
    .map(({ colour }) => colour);
}

function nearest(palette: readonly number[], colour: number): number {
  const wanted = parts(colour);
  let best = 0;
  let least = Infinity;
  for (const [place, one] of palette.entries()) {
    const distance = parts(one).reduce((sum, part, index) => sum + (part - wanted[index]!) ** 2, 0); // three each
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}

const parts = (colour: number): number[] => [colour >> 16, (colour >> 8) & 255, colour & 255];

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
