import Head from '@docusaurus/Head';
import font from '@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2?common';
import type { ReactNode } from 'react';

/** Asks for the font of all text before the style sheet is read, so that text need not be laid out twice. */
export function FontPreload(): ReactNode {
  return (
    <Head>
      <link rel="preload" as="font" type="font/woff2" href={font} crossOrigin="anonymous" />
    </Head>
  );
}
