import useBaseUrl from '@docusaurus/useBaseUrl';
import type { ReactNode } from 'react';
import { Picture } from './Picture';

/** The size of every screenshot, which `npm run docs:ui-screenshots` takes. */
const [width, height] = [1024, 720];

/** A screenshot of the web UI, in the colors of the site. */
export function Screenshot({ name, alt }: { name: string; alt: string }): ReactNode {
  return (
    <Picture
      screenshot
      alt={alt}
      light={useBaseUrl(`/img/ui/${name}.png`)}
      dark={useBaseUrl(`/img/ui/${name}-dark.png`)}
      width={width}
      height={height}
    />
  );
}
