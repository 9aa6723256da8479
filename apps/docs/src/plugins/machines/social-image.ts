import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';
import satori from 'satori';

const { resolve } = createRequire(import.meta.url);
const [width, height] = [1200, 630];

/** Renders the picture that other sites show with a link to a page. */
export async function openPainter(): Promise<(title: string, description: string) => Promise<Buffer>> {
  const font = (weight: 400 | 700) =>
    readFile(resolve(`@fontsource/instrument-sans/files/instrument-sans-latin-${weight}-normal.woff`));
  const [regular, bold] = await Promise.all([font(400), font(700)]);
  const fonts = [
    { name: 'Instrument Sans', data: regular, weight: 400 as const },
    { name: 'Instrument Sans', data: bold, weight: 700 as const },
  ];
  return async (title, description) => {
    const svg = await satori(card(title, description), { width, height, fonts });
    return Buffer.from(new Resvg(svg).render().asPng());
  };
}

type Element = Parameters<typeof satori>[0];

function box(style: object, children: unknown): Element {
  return { type: 'div', props: { style: { display: 'flex', ...style }, children } } as unknown as Element;
}

function card(title: string, description: string): Element {
  const frame = { width, height, padding: 72, flexDirection: 'column', justifyContent: 'space-between' };
  return box({ ...frame, background: '#0f1118', color: '#f5f6fa', borderLeft: '18px solid #f2a33a' }, [
    box({ alignItems: 'center', gap: 20, fontSize: 36, fontWeight: 700, color: '#ffb454' }, 'ToolHive'),
    box({ flexDirection: 'column', gap: 24 }, [
      box(
        { fontSize: title.length > 40 ? 64 : 84, fontWeight: 700, letterSpacing: -2, lineHeight: 1.05 },
        title,
      ),
      box({ fontSize: 34, color: '#b6bccb', lineHeight: 1.35 }, description),
    ]),
    box({ fontSize: 28, color: '#a6adbe' }, 'Simple and secure AI tools'),
  ]);
}
